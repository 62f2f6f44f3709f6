// RUN: attn-opt %s --tile-assign-layouts --split-input-file | FileCheck %s

!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: tile.kernel @products_anchor
tile.kernel @products_anchor(%q: !g {tile.name = "q"}, %n: i32 {tile.name = "max_len_q"})
    attributes {warps = 4 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: tile.load {{.*}} -> tensor<64x64xbf16, #tile.layout<reg = [2:(0, 1), 2:(8, 0), 8:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = [4:(16, 0)]>>
  %a = tile.load %q[%c0, %c0, %c0] limit %n : !g -> tensor<64x64xbf16>
  %b = tile.alloc_shared : !tile.shared<1x64x64xbf16, pitch = 72>
  %bs = tile.stage %b[%c0] : !tile.shared<1x64x64xbf16, pitch = 72> -> !tile.shared<64x64xbf16, pitch = 72>
  %s = tile.mma %a, %bs, %zero transpose_b : tensor<64x64xbf16>, !tile.shared<64x64xbf16, pitch = 72> -> tensor<64x64xf32>
  // A row statistic is the slice: four lanes hold copies.
  // CHECK: tile.reduce {{.*}} -> tensor<64xf32, #tile.layout<reg = [2:(8)], lane = [4:(0), 8:(1)], warp = [4:(16)]>>
  %m = tile.reduce <max> %s dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  %mb = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %d = arith.subf %s, %mb : tensor<64x64xf32>
  // The second product takes the first one's fragments as they are.
  // CHECK-NOT: tile.convert_layout
  %p = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xbf16>
  %o = tile.mma %p, %bs, %zero : tensor<64x64xbf16>, !tile.shared<64x64xbf16, pitch = 72> -> tensor<64x64xf32>
  %ob = arith.truncf %o : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %ob, %q[%c0, %c0, %c0] limit %n : tensor<64x64xbf16> -> !g
  tile.return
}

// -----

!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!o = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// One iota, asked for along the rows and along the columns.
// CHECK-LABEL: tile.kernel @remakes_iota
tile.kernel @remakes_iota(%q: !g {tile.name = "q"}, %x: !o {tile.name = "o"}, %n: i32 {tile.name = "max_len_q"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0, %c0] limit %n : !g -> tensor<16x64xbf16>
  %b = tile.alloc_shared : !tile.shared<1x16x64xbf16, pitch = 72>
  %bs = tile.stage %b[%c0] : !tile.shared<1x16x64xbf16, pitch = 72> -> !tile.shared<16x64xbf16, pitch = 72>
  %s = tile.mma %a, %bs, %zero transpose_b : tensor<16x64xbf16>, !tile.shared<16x64xbf16, pitch = 72> -> tensor<16x16xf32>
  // CHECK-DAG: tile.iota : tensor<16xi32, #tile.layout<reg = [2:(8)], lane = [4:(0), 8:(1)], warp = []>>
  // CHECK-DAG: tile.iota : tensor<16xi32, #tile.layout<reg = [2:(1), 2:(8)], lane = [4:(2), 8:(0)], warp = []>>
  %i = tile.iota : tensor<16xi32>
  %r = tile.broadcast %i dim 1 : tensor<16xi32> -> tensor<16x16xi32>
  %c = tile.broadcast %i dim 0 : tensor<16xi32> -> tensor<16x16xi32>
  %le = arith.cmpi sle, %c, %r : tensor<16x16xi32>
  %m = arith.select %le, %s, %zero : tensor<16x16xi1>, tensor<16x16xf32>
  %xb = arith.truncf %m : tensor<16x16xf32> to tensor<16x16xbf16>
  tile.store %xb, %x[%c0, %c0, %c0] limit %n : tensor<16x16xbf16> -> !o
  tile.return
}

// -----

!v = memref<?xf32, strided<[?]>>

// No product: the vector is spread over the lanes, whole in every warp.
// CHECK-LABEL: tile.kernel @spreads_vectors
tile.kernel @spreads_vectors(%v: !v {tile.name = "lse"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  %i = tile.iota : tensor<128xi32>
  // CHECK: tile.gather {{.*}} -> tensor<128xf32, #tile.layout<reg = [4:(1)], lane = [32:(4)], warp = []>>
  %x = tile.gather %v[%i : tensor<128xi32>] : !v -> tensor<128xf32>
  tile.scatter %x, %v[%i : tensor<128xi32>] : tensor<128xf32> -> !v
  tile.return
}
