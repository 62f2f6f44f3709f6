// RUN: attn-opt %s --tile-assign-layouts --verify-diagnostics

!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

tile.kernel @operand_not_shared(%q: !g {tile.name = "q"}, %n: i32 {tile.name = "max_len_q"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0, %c0] limit %n : !g -> tensor<16x64xbf16>
  // expected-error @+1 {{the second operand of a product must be in shared memory on a GPU; run tile-pipeline-loads first}}
  %s = tile.mma %a, %a, %zero transpose_b : tensor<16x64xbf16>, tensor<16x64xbf16> -> tensor<16x16xf32>
  tile.return
}
