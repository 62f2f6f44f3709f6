// RUN: attn-opt %s --tile-pipeline-loads --split-input-file | FileCheck %s
// RUN: attn-opt %s --tile-pipeline-loads=stages=3 --split-input-file | FileCheck %s --check-prefix=THREE

!q = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!kv = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: tile.kernel @pipelines_products
// THREE-LABEL: tile.kernel @pipelines_products
tile.kernel @pipelines_products(%k: !kv {tile.name = "k"}, %v: !kv {tile.name = "v"},
                                %len: i32 {tile.name = "max_len_kv"}, %qm: !q {tile.name = "q"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %q = tile.load %qm[%c0, %c0, %c0] limit %len : !q -> tensor<16x64xbf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x64xf32>
  // CHECK: %[[K:.*]] = tile.alloc_shared : <2x32x64xbf16, pitch = 72>
  // CHECK: %[[V:.*]] = tile.alloc_shared : <2x32x64xbf16, pitch = 72>
  // THREE-COUNT-2: tile.alloc_shared : <3x32x64xbf16, pitch = 72>
  // The first block is copied ahead of the loop, if it exists.
  // CHECK: scf.if
  // CHECK-COUNT-2: tile.copy_async
  // CHECK: tile.async_commit
  // CHECK-NOT: tile.copy_async
  // THREE-COUNT-2: tile.async_commit
  // CHECK: tile.kv_loop {{.*}} : tensor<16x64xf32>, i32)
  %r = tile.kv_loop %c0 to %len full(%c0 to %len) step 32 init(%acc0 : tensor<16x64xf32>) -> tensor<16x64xf32> {
  // CHECK: ^bb0(%[[N0:.*]]: i32, %{{.*}}: tensor<16x64xf32>, %[[STAGE:.*]]: i32):
  ^bb0(%n0: i32, %acc: tensor<16x64xf32>):
    // CHECK-NEXT: tile.async_wait 0
    // CHECK-NEXT: tile.barrier
    // THREE: tile.async_wait 1
    // CHECK: %[[AHEAD:.*]] = arith.addi %[[N0]], %c32{{.*}}
    // CHECK: scf.if
    // CHECK: tile.copy_async %{{.*}}, %[[AHEAD]]]
    // CHECK: tile.copy_async %{{.*}}, %[[AHEAD]]]
    // CHECK: tile.async_commit
    %kt = tile.load %k[%c0, %c0, %n0] limit %len : !kv -> tensor<32x64xbf16>
    %vt = tile.load %v[%c0, %c0, %n0] limit %len : !kv -> tensor<32x64xbf16>
    // CHECK: %[[KS:.*]] = tile.stage %[[K]][%[[STAGE]]]
    // CHECK: %[[VS:.*]] = tile.stage %[[V]][%[[STAGE]]]
    // CHECK-NOT: tile.load
    // CHECK: tile.mma %{{.*}}, %[[KS]], %{{.*}} transpose_b
    %s = tile.mma %q, %kt, %zero transpose_b : tensor<16x64xbf16>, tensor<32x64xbf16> -> tensor<16x32xf32>
    %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
    // CHECK: tile.mma %{{.*}}, %[[VS]]
    %acc1 = tile.mma %p, %vt, %acc : tensor<16x32xbf16>, tensor<32x64xbf16> -> tensor<16x64xf32>
    // CHECK: tile.yield %{{.*}}, %{{.*}} : tensor<16x64xf32>, i32
    tile.yield %acc1 : tensor<16x64xf32>
  }
  tile.return
}

// -----

!q = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!pool = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

// Page numbers are looked up again for the block ahead.
// CHECK-LABEL: tile.kernel @clones_page_lookup
tile.kernel @clones_page_lookup(%k: !pool {tile.name = "k"}, %table: memref<?x?xi32, strided<[?, ?]>> {tile.name = "block_table"},
                                %len: i32 {tile.name = "max_len_kv"}, %qm: !q {tile.name = "q"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %q = tile.load %qm[%c0, %c0, %c0] limit %len : !q -> tensor<16x64xbf16>
  // CHECK: tile.gather
  // CHECK: tile.gather_async
  // CHECK: tile.kv_loop
  %r = tile.kv_loop %c0 to %len full(%c0 to %len) step 32 init(%zero : tensor<16x32xf32>) -> tensor<16x32xf32> {
  ^bb0(%n0: i32, %acc: tensor<16x32xf32>):
    %i = tile.iota : tensor<32xi32>
    %n = tile.splat %n0 : i32 -> tensor<32xi32>
    %pos = arith.addi %i, %n : tensor<32xi32>
    %page = tile.gather %table[%c0, %pos : i32, tensor<32xi32>] : memref<?x?xi32, strided<[?, ?]>> -> tensor<32xi32>
    // CHECK: scf.if
    // CHECK: %[[PAGE:.*]] = tile.gather
    // CHECK: tile.gather_async %{{.*}}[%[[PAGE]]
    %kt = tile.gather %k[%page, %c0, %pos : tensor<32xi32>, i32, tensor<32xi32>] : !pool -> tensor<32x64xbf16>
    %s = tile.mma %q, %kt, %acc transpose_b : tensor<16x64xbf16>, tensor<32x64xbf16> -> tensor<16x32xf32>
    tile.yield %s : tensor<16x32xf32>
  }
  tile.return
}

// -----

// Nothing to pipeline: unchanged.
// CHECK-LABEL: tile.kernel @no_products
// CHECK-NOT: tile.alloc_shared
tile.kernel @no_products(%len: i32 {tile.name = "max_len_kv"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %r = tile.kv_loop %c0 to %len full(%c0 to %len) step 32 init(%c0 : i32) -> i32 {
  ^bb0(%n0: i32, %x: i32):
    tile.yield %n0 : i32
  }
  tile.return
}
