// RUN: attn-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

#rows = #tile.layout<reg = [2:(0, 1)], lane = [4:(0, 2), 8:(1, 0)], warp = [2:(0, 8)]>
#slice = #tile.layout<reg = [], lane = [4:(0), 8:(1)], warp = [2:(0)]>

tile.kernel @reduction_across_warps(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 2 : i32, role = "main", grid = 1} {
  %x = arith.constant dense<1.0> : tensor<8x16xf32, #rows>
  // expected-error @+2 {{a reduction across warps is not supported; the layout spreads dimension 1 over 2 warps}}
  // expected-error @+1 {{failed to legalize operation 'tile.reduce'}}
  %m = tile.reduce <max> %x dim 1 : tensor<8x16xf32, #rows> -> tensor<8xf32, #slice>
  tile.return
}
