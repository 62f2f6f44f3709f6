// A tile that dies in an elementwise op is overwritten; loops carry one buffer each.
// RUN: attn-opt %s -pass-pipeline='builtin.module(func.func(host-reuse-tiles))' -split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @rescale(
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK: %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[ACC]] : tensor<8xf32>) outs(%[[ACC]] : tensor<8xf32>)
// CHECK: %[[PLACED:.*]] = bufferization.materialize_in_destination %[[NEW]] in %[[ACC]]
// CHECK: scf.yield %[[PLACED]]
func.func @rescale(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> tensor<8xf32> {
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%acc : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %in : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    scf.yield %a : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// A tile with another reader, one that a loop reads again, and a loaded one stay.
// CHECK-LABEL: func.func @keep(
// CHECK: %[[E:.*]] = tensor.empty
// CHECK-COUNT-3: outs(%[[E]] : tensor<8xf32>)
// CHECK-NOT: outs
func.func @keep(%x: tensor<8xf32>, %m: memref<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = tensor.extract %x[%c0] : tensor<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.mulf %in, %y : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    %z = tensor.extract %b[%c0] : tensor<8xf32>
    memref.store %z, %m[%i] : memref<8xf32>
  }
  %t = bufferization.to_tensor %m restrict : memref<8xf32> to tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %x, %c : tensor<8xf32>, tensor<8xf32>
}
