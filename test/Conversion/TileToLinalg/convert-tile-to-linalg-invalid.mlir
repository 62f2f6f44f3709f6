// What the host has no form for is refused with the reason.
// RUN: attn-opt %s -convert-tile-to-linalg -split-input-file -verify-diagnostics

tile.kernel @shared(%n: i32 {tile.name = "batch"})
    attributes {warps = 4 : i32, role = "main", grid = 1 : i64} {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = arith.constant dense<0.0> : tensor<16x16xbf16>
  %b = tile.alloc_shared : !tile.shared<16x16xbf16, pitch = 24>
  // expected-error@-1 {{failed to legalize operation 'tile.alloc_shared'}}
  %s = tile.mma %a, %b, %zero : tensor<16x16xbf16>, !tile.shared<16x16xbf16, pitch = 24> -> tensor<16x16xf32>
  tile.return
}
