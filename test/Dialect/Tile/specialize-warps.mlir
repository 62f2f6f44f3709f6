// RUN: attn-opt %s --tile-persist --tile-specialize-warps --split-input-file | FileCheck %s
// RUN: attn-opt %s --tile-persist --tile-specialize-warps --tile-overlap-products --canonicalize --split-input-file | FileCheck %s --check-prefix=OVERLAP

!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: tile.kernel @specialised
// Maps are appended; the grid is bounded by the device.
// CHECK-SAME: !tile.tensor_map<1x1x128x64xbf16> {tile.name = "q.map"}
// CHECK-SAME: !tile.tensor_map<1x1x64x64xbf16> {tile.name = "k.map"}
// CHECK-SAME: !tile.tensor_map<1x1x64x64xbf16> {tile.name = "v.map"}
// CHECK-SAME: grid = ["min", ["mul", "batch", 4], "multiprocessors"]
// CHECK-SAME: warps = 12
tile.kernel @specialised(%q: !g {tile.name = "q"}, %k: !g {tile.name = "k"}, %v: !g {tile.name = "v"}, %o: !g {tile.name = "o"},
                         %batch: i32 {tile.name = "batch"}, %len: i32 {tile.name = "max_len_kv"})
    attributes {warps = 8 : i32, role = "main", grid = ["mul", "batch", 4],
                tile.schedule = {stages = 2 : i64, persistent, warp_specialized}} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %row = arith.constant dense<0.0> : tensor<128xf32>
  %h = tile.program_id : i32
  %qt = tile.load %q[%c0, %h, %c0] limit %len : !g -> tensor<128x64xbf16>
  // CHECK: tile.alloc_shared : <1x128x64xbf16, swizzle = 128>
  // CHECK: %[[QFULL:.*]] = tile.mbarrier_alloc arrivals 1 : <1>
  // CHECK: %[[QEMPTY:.*]] = tile.mbarrier_alloc arrivals 8 : <1>
  // CHECK: tile.alloc_shared : <2x64x64xbf16, swizzle = 128>
  // CHECK: %[[KFULL:.*]] = tile.mbarrier_alloc arrivals 1 : <2>
  // CHECK: %[[KEMPTY:.*]] = tile.mbarrier_alloc arrivals 8 : <2>
  // CHECK: tile.barrier
  // CHECK: tile.warp_roles warps [4, 8] registers [24, 240]
  // The producer: one thread, over the tiles and their blocks, counting both.
  // CHECK: tile.elect
  // CHECK: scf.for {{.*}} iter_args(%[[TILES:.*]] = %{{.*}}, %[[BLOCKS:.*]] = %{{.*}}) -> (i32, i32)
  // CHECK: tile.mbarrier_wait %[[QEMPTY]]
  // CHECK: tile.mbarrier_arrive %[[QFULL]]{{.*}} bytes 16384
  // CHECK: tile.tma_load
  // CHECK: scf.for {{.*}} iter_args(%[[N:.*]] = %[[BLOCKS]])
  // CHECK: arith.remui %[[N]]
  // CHECK: tile.mbarrier_wait %[[KEMPTY]]
  // CHECK: tile.mbarrier_arrive %[[KFULL]]{{.*}} bytes 8192
  // CHECK-COUNT-2: tile.tma_load
  // CHECK-NOT: tile.store
  // The consumer: the body itself, waiting and releasing around each product.
  // CHECK: }, {
  // CHECK: tile.mbarrier_wait %[[QFULL]]
  // CHECK: tile.kv_loop
  // CHECK: tile.mbarrier_wait %[[KFULL]]
  // CHECK: tile.mma {{.*}} transpose_b
  // CHECK: tile.mbarrier_arrive %[[KEMPTY]]
  // CHECK: tile.softmax_step
  // CHECK: tile.mma
  // CHECK: tile.yield
  // CHECK: tile.mbarrier_arrive %[[QEMPTY]]
  // CHECK: tile.store

  // Overlapped: the first scores are peeled; in the loop both products are in flight over the softmax.
  // OVERLAP-LABEL: tile.kernel @specialised
  // OVERLAP: }, {
  // OVERLAP: scf.if
  // OVERLAP: tile.mma_async {{.*}} transpose_b
  // OVERLAP: tile.mma_wait 0
  // OVERLAP: tile.softmax_step
  // OVERLAP: tile.kv_loop
  // OVERLAP: tile.mma_async {{.*}} transpose_b
  // OVERLAP: arith.mulf
  // OVERLAP: tile.mma_async
  // OVERLAP: tile.mma_wait 1
  // OVERLAP: tile.mbarrier_arrive
  // OVERLAP: tile.softmax_step
  // P is held until the product that reads its registers is done.
  // OVERLAP: tile.mma_wait 0 %{{.*}}, %{{.*}} : tensor<128x64xf32>, tensor<128x64xbf16>
  // OVERLAP: tile.yield
  // OVERLAP: tile.mma_async
  // OVERLAP: tile.mma_wait 0
  %r:3 = tile.kv_loop %c0 to %len full(%c0 to %len) step 64 init(%zero, %row, %row : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32> {
  ^bb0(%n0: i32, %acc: tensor<128x64xf32>, %m: tensor<128xf32>, %l: tensor<128xf32>):
    %kt = tile.load %k[%c0, %h, %n0] limit %len : !g -> tensor<64x64xbf16>
    %vt = tile.load %v[%c0, %h, %n0] limit %len : !g -> tensor<64x64xbf16>
    %s = tile.mma %qt, %kt, %zero transpose_b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %p, %m1, %l1, %c = tile.softmax_step %s, %m, %l scale 0.125 : tensor<128x64xf32>, tensor<128xf32>
    %cb = tile.broadcast %c dim 1 : tensor<128xf32> -> tensor<128x64xf32>
    %acc1 = arith.mulf %acc, %cb : tensor<128x64xf32>
    %pb = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xbf16>
    %acc2 = tile.mma %pb, %vt, %acc1 : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    tile.yield %acc2, %m1, %l1 : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  }
  %ob = arith.truncf %r#0 : tensor<128x64xf32> to tensor<128x64xbf16>
  tile.store %ob, %o[%c0, %h, %c0] limit %len : tensor<128x64xbf16> -> !g
  tile.return
}

// -----

// Without the attribute nothing changes.
// CHECK-LABEL: tile.kernel @plain
// CHECK-NOT: tile.warp_roles
tile.kernel @plain(%len: i32 {tile.name = "max_len_kv"}) attributes {warps = 1 : i32, role = "main", grid = 1, tile.schedule = {stages = 2 : i64}} {
  %c0 = arith.constant 0 : i32
  %r = tile.kv_loop %c0 to %len full(%c0 to %len) step 32 init(%c0 : i32) -> i32 {
  ^bb0(%n0: i32, %x: i32):
    tile.yield %n0 : i32
  }
  tile.return
}
