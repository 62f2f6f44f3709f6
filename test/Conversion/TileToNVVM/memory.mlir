// RUN: attn-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

#acc = #tile.layout<reg = [2:(0, 1), 2:(8, 0), 2:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = []>
!g = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// A tensor is a pointer and three strides.
// CHECK-LABEL: llvm.func @rows
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64, %[[ROW:.*]]: i64, %[[N:.*]]: i32)
tile.kernel @rows(%q: !g {tile.name = "q"}, %n: i32 {tile.name = "max_len_q"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  // Neighbouring elements are one access; a row past the limit is not read and is zero.
  // CHECK: scf.if %{{.*}} -> (bf16, bf16, bf16, bf16)
  // CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> vector<2xbf16>
  // CHECK: else
  // CHECK: scf.if %{{.*}} -> (bf16, bf16, bf16, bf16)
  %t = tile.load %q[%c0, %c0, %c0] limit %n : !g -> tensor<16x16xbf16, #acc>
  // CHECK-COUNT-2: llvm.store {{.*}} : vector<2xbf16>, !llvm.ptr<1>
  tile.store %t, %q[%c0, %c0, %c0] limit %n : tensor<16x16xbf16, #acc> -> !g
  tile.return
}

// -----

!g = memref<?x?x?x40xbf16, strided<[?, ?, ?, 1]>>

// Dim 40 in a tile of 48 columns: the last chunk of a row is zero-filled, nothing past it is read.
// CHECK-LABEL: llvm.func @copies_with_zero_fill
tile.kernel @copies_with_zero_fill(%k: !g {tile.name = "k"}, %n: i32 {tile.name = "max_len_kv"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %b = tile.alloc_shared : !tile.shared<1x16x48xbf16, pitch = 56>
  %bs = tile.stage %b[%c0] : !tile.shared<1x16x48xbf16, pitch = 56> -> !tile.shared<16x48xbf16, pitch = 56>
  // Two lanes a row (6 chunks), three chunks each, one row a lane pair: sixteen rows in one pass.
  // CHECK-COUNT-3: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg, %{{.*}}
  // CHECK-NOT: nvvm.cp.async.shared.global
  tile.copy_async %k[%c0, %c0, %c0] limit %n into %bs : !g -> !tile.shared<16x48xbf16, pitch = 56>
  // CHECK: nvvm.cp.async.commit.group
  tile.async_commit
  // CHECK: nvvm.cp.async.wait.group 0
  tile.async_wait 0
  // CHECK: nvvm.barrier0
  tile.barrier
  tile.return
}

// -----

#vec = #tile.layout<reg = [2:(1)], lane = [16:(2), 2:(0)], warp = []>

// Half the lanes hold copies: only the owners write.
// CHECK-LABEL: llvm.func @owners_write
tile.kernel @owners_write(%v: memref<?xf32, strided<[?]>> {tile.name = "lse"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  %i = tile.iota : tensor<32xi32, #vec>
  // CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> f32
  %x = tile.gather %v[%i : tensor<32xi32, #vec>] : memref<?xf32, strided<[?]>> -> tensor<32xf32, #vec>
  // CHECK: scf.if
  // CHECK-NEXT: llvm.store
  tile.scatter %x, %v[%i : tensor<32xi32, #vec>] : tensor<32xf32, #vec> -> memref<?xf32, strided<[?]>>
  tile.return
}
