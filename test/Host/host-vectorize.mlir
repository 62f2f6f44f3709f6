// Linalg on buffers becomes loops of vectors; any width is covered by powers of two.
// RUN: attn-opt %s -pass-pipeline='builtin.module(func.func(host-vectorize{lanes=8 rows=2 columns=2}))' -split-input-file | FileCheck %s

// 2×2 vectors of eight stay in registers over a run of 32 of the 64 products.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:.*]]: memref<4x64xf32>, %[[B:.*]]: memref<64x16xf32>, %[[C:.*]]: memref<4x16xf32>
// CHECK: scf.for %[[J:.*]] = %{{.*}} step %c16
// CHECK: scf.for %[[I:.*]] = %{{.*}} step %c2
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} step %c32
// CHECK: %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = %[[FIRST]] to
// CHECK-COUNT-2: vector.load %[[B]][%[[K]], %{{.*}}] : memref<64x16xf32>, vector<8xf32>
// CHECK: memref.load %[[A]][%[[I]], %[[K]]]
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: vector.fma
// CHECK: vector.store %{{.*}}, %[[C]][
func.func @product(%a: memref<4x64xf32>, %b: memref<64x16xf32>, %c: memref<4x16xf32>) {
  linalg.matmul ins(%a, %b : memref<4x64xf32>, memref<64x16xf32>) outs(%c : memref<4x16xf32>)
  return
}

// -----

// 21 = 2·8 + 4 + 1.
// CHECK-LABEL: func.func @tail(
// CHECK: scf.for %{{.*}} = %{{.*}} step %c8
// CHECK: vector.load %{{.*}} : memref<21xf32>, vector<8xf32>
// CHECK: vector.load %{{.*}}[%c16{{.*}}] : memref<21xf32>, vector<4xf32>
// CHECK: memref.load %{{.*}}[%c20{{.*}}] : memref<21xf32>
// CHECK-NOT: load
func.func @tail(%a: memref<21xf32>, %b: memref<21xf32>) {
  linalg.copy ins(%a : memref<21xf32>) outs(%b : memref<21xf32>)
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A row is summed by lanes, then the lanes as a tree.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[LANES:.*]] = scf.for {{.*}} -> (vector<8xf32>)
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: vector.shuffle %[[LANES]], %[[LANES]] [0, 1, 2, 3]
// CHECK: vector.shuffle %[[LANES]], %[[LANES]] [4, 5, 6, 7]
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @rows(%a: memref<4x32xf32>, %s: memref<4xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<4x32xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// Whole blocks are transposed in registers: three steps of eight shuffles.
// CHECK-LABEL: func.func @transpose(
// CHECK-COUNT-8: vector.load %{{.*}} : memref<8x16xbf16>, vector<8xbf16>
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store
func.func @transpose(%a: memref<8x16xbf16>, %b: memref<16x8xf32>) {
  linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<8x16xbf16>) outs(%b : memref<16x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// A guarded load becomes a masked gather, at a 64-bit offset.
// CHECK-LABEL: func.func @gather(
// CHECK: %[[MASK:.*]] = arith.trunci %{{.*}} : vector<8xi8> to vector<8xi1>
// CHECK: memref.extract_strided_metadata
// CHECK: vector.gather %{{.*}}[%{{.*}}] [%{{.*}}], %[[MASK]], %{{.*}} : memref<?xf32, strided<[1], offset: ?>>, vector<8xindex>, vector<8xi1>, vector<8xf32> into vector<8xf32>
func.func @gather(%x: memref<?x?xf32, strided<[?, ?]>>, %i: memref<8xi32>, %ok: memref<8xi8>, %o: memref<8xf32>, %r: index) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%i, %ok : memref<8xi32>, memref<8xi8>) outs(%o : memref<8xf32>) {
  ^bb0(%in: i32, %byte: i8, %out: f32):
    %at = arith.index_cast %in : i32 to index
    %bit = arith.trunci %byte : i8 to i1
    %v = scf.if %bit -> f32 {
      %l = memref.load %x[%r, %at] : memref<?x?xf32, strided<[?, ?]>>
      scf.yield %l : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %v : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// What has no vector form becomes scalar loops.
// CHECK-LABEL: func.func @scalar(
// CHECK: scf.for
// CHECK: memref.load
// CHECK: scf.while
// CHECK: memref.store
// CHECK-NOT: linalg
func.func @scalar(%x: memref<8xi32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xi32>) {
  ^bb0(%out: i32):
    %c = arith.constant 100 : i32
    %r = scf.while (%a = %out) : (i32) -> i32 {
      %go = arith.cmpi slt, %a, %c : i32
      scf.condition(%go) %a : i32
    } do {
    ^bb0(%a: i32):
      %d = arith.addi %a, %a : i32
      scf.yield %d : i32
    }
    linalg.yield %r : i32
  }
  return
}
