// RUN: attn-opt %s -tile-expand-softmax | FileCheck %s

// CHECK-LABEL: tile.kernel @step
tile.kernel @step(%out: memref<?x?xf32, strided<[?, ?]>> {tile.name = "o"}, %x: f32 {tile.name = "arg.x"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[S:.+]] = tile.splat %{{.+}} : f32 -> tensor<16x32xf32>
  // CHECK: %[[M:.+]] = tile.splat %{{.+}} : f32 -> tensor<16xf32>
  %s = tile.splat %x : f32 -> tensor<16x32xf32>
  %m = tile.splat %x : f32 -> tensor<16xf32>
  // CHECK: %[[BLOCK:.+]] = tile.reduce <max> %[[S]] dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  // CHECK: %[[NEW:.+]] = arith.maxnumf %[[M]], %[[BLOCK]] : tensor<16xf32>
  // A row without a score measures from zero.
  // CHECK: %[[NEG:.+]] = arith.constant dense<0xFF800000> : tensor<16xf32>
  // CHECK: %[[EMPTY:.+]] = arith.cmpf oeq, %[[NEW]], %[[NEG]] : tensor<16xf32>
  // CHECK: %[[SAFE:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[NEW]] : tensor<16xi1>, tensor<16xf32>
  // CHECK: %[[C:.+]] = arith.constant dense<2.500000e-01> : tensor<16xf32>
  // Beyond 2^24 the scale is 1, so that products are exact.
  // CHECK: %[[PROD:.+]] = arith.mulf %[[SAFE]], %[[C]] : tensor<16xf32>
  // CHECK: %[[ABS:.+]] = math.absf %[[PROD]] : tensor<16xf32>
  // CHECK: %[[HUGE:.+]] = arith.cmpf oge, %[[ABS]], %{{.+}} : tensor<16xf32>
  // CHECK: %[[SCALE:.+]] = arith.select %[[HUGE]], %{{.+}}, %[[C]] : tensor<16xi1>, tensor<16xf32>
  // CHECK: %[[OFFSET:.+]] = arith.mulf %[[SAFE]], %[[SCALE]] : tensor<16xf32>
  // CHECK: %[[NOFF:.+]] = arith.negf %[[OFFSET]] : tensor<16xf32>
  // CHECK: %[[NOFF2:.+]] = tile.broadcast %[[NOFF]] dim 1 : tensor<16xf32> -> tensor<16x32xf32>
  // CHECK: %[[C2:.+]] = tile.broadcast %[[SCALE]] dim 1 : tensor<16xf32> -> tensor<16x32xf32>
  // CHECK: %[[EXP:.+]] = math.fma %[[S]], %[[C2]], %[[NOFF2]] : tensor<16x32xf32>
  // CHECK: %[[P:.+]] = math.exp2 %[[EXP]] : tensor<16x32xf32>
  // CHECK: arith.mulf %[[M]], %[[C]] : tensor<16xf32>
  // CHECK: %[[OLDSCALE:.+]] = arith.select
  // CHECK: %[[OLD:.+]] = arith.mulf %[[M]], %[[OLDSCALE]] : tensor<16xf32>
  // CHECK: %[[DIFF:.+]] = arith.subf %[[OLD]], %[[OFFSET]] : tensor<16xf32>
  // CHECK: %[[CORR:.+]] = math.exp2 %[[DIFF]] : tensor<16xf32>
  // CHECK: %[[SUM:.+]] = tile.reduce <sum> %[[P]] dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  // CHECK: %[[NEWSUM:.+]] = math.fma %[[M]], %[[CORR]], %[[SUM]] : tensor<16xf32>
  %w, %m1, %l1, %c = tile.softmax_step %s, %m, %m scale 0.25 : tensor<16x32xf32>, tensor<16xf32>
  %wide = tile.broadcast %c dim 1 : tensor<16xf32> -> tensor<16x32xf32>
  %sum = arith.addf %m1, %l1 : tensor<16xf32>
  // CHECK: tile.scatter %[[P]]
  tile.scatter %w, %out[%c0, %c0 : i32, i32] : tensor<16x32xf32> -> memref<?x?xf32, strided<[?, ?]>>
  // CHECK-NOT: tile.softmax_step
  tile.return
}

// Nothing to do.
// CHECK-LABEL: tile.kernel @no_step
// CHECK-NEXT: tile.return
tile.kernel @no_step() attributes {warps = 1 : i32, role = "main", grid = 1} {
  tile.return
}
