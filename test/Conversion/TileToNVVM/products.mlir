// RUN: attn-opt %s --convert-tile-to-nvvm | FileCheck %s

#acc = #tile.layout<reg = [2:(0, 1), 2:(8, 0), 2:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = []>

// CHECK: llvm.mlir.global external @attnc_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @product
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 32>
// CHECK-SAME: tile.shared_bytes = 768
tile.kernel @product(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<16x16xbf16, #acc>
  %b = tile.alloc_shared : !tile.shared<1x16x16xbf16, pitch = 24>
  %bs = tile.stage %b[%c0] : !tile.shared<1x16x16xbf16, pitch = 24> -> !tile.shared<16x16xbf16, pitch = 24>
  // K as it lies: no transposition; one ldmatrix feeds two products.
  // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
  // CHECK-COUNT-2: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
  // CHECK-NOT: nvvm.mma.sync
  %s = tile.mma %a, %bs, %zero transpose_b : tensor<16x16xbf16, #acc>, !tile.shared<16x16xbf16, pitch = 24> -> tensor<16x16xf32, #acc>
  // V: the read transposes.
  // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
  // CHECK-COUNT-2: nvvm.mma.sync
  %p = arith.truncf %s : tensor<16x16xf32, #acc> to tensor<16x16xbf16, #acc>
  %o = tile.mma %p, %bs, %zero : tensor<16x16xbf16, #acc>, !tile.shared<16x16xbf16, pitch = 24> -> tensor<16x16xf32, #acc>
  // A row sum: registers first, then the four lanes of a row.
  // CHECK: nvvm.shfl.sync bfly {{.*}}
  // CHECK: nvvm.shfl.sync bfly {{.*}}
  %l = tile.reduce <sum> %o dim 1 : tensor<16x16xf32, #acc> -> tensor<16xf32, #tile.layout<reg = [2:(8)], lane = [4:(0), 8:(1)], warp = []>>
  tile.return
}
