// RUN: attn-opt %s --split-input-file --verify-diagnostics

// One test for each constraint of the ops' descriptions; the comment before it names the constraint.

// attn-prefill-C1
func.func @rank(%q: tensor<8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op q has rank 3; it must be [batch, head, seq, dim] (rank 4)}}
  %o = attn.prefill %q, %k, %v : tensor<8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C1
func.func @element(%q: tensor<?x8x?x64xf64>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op q has element type 'f64'; supported are f16, bf16 and f32}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf64>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C1
func.func @kv_types(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xbf16>) {
  // expected-error @below {{'attn.prefill' op k is 'f16' and v is 'bf16'; give both the same type}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xbf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C2
func.func @dynamic_heads(%q: tensor<?x?x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op q has a dynamic head count; it must be static and positive}}
  %o = attn.prefill %q, %k, %v : tensor<?x?x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x?x?x64xf16>
  return
}

// -----

// attn-prefill-C2
func.func @zero_dim(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x0xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op k has 0 as its head dim; it must be static and positive}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x0xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C2
func.func @kv_heads(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x4x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op k has 2 heads and v 4; they must agree}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x4x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C2
func.func @group(%q: tensor<?x6x?x64xf16>, %k: tensor<?x4x?x64xf16>, %v: tensor<?x4x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op 6 query heads over 4 KV heads; the first must be a multiple of the second}}
  %o = attn.prefill %q, %k, %v : tensor<?x6x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16> -> tensor<?x6x?x64xf16>
  return
}

// -----

// attn-prefill-C3
func.func @dim_qk(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x32xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op q has head dim 64 and k 32; they must agree}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x32xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C3
func.func @kv_shapes(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x7x64xf16>, %v: tensor<?x2x9x64xf16>) {
  // expected-error @below {{they may differ in the head dim only}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x7x64xf16>, tensor<?x2x9x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C3
func.func @batches(%q: tensor<2x8x?x64xf16>, %k: tensor<3x2x?x64xf16>, %v: tensor<3x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op q has batch 2 and k 3; they must agree}}
  %o = attn.prefill %q, %k, %v : tensor<2x8x?x64xf16>, tensor<3x2x?x64xf16>, tensor<3x2x?x64xf16> -> tensor<2x8x?x64xf16>
  return
}

// -----

// attn-prefill-C3
func.func @output(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x128xf16>) {
  // expected-error @below {{it must be an f16, bf16 or f32 tensor of q's shape with 128 (v's head dim) as the last extent}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x128xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C3
func.func @lse(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{it must be f32 [batch, 8 query heads, seq]}}
  %o, %lse = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// attn-prefill-C4
func.func @odd_dim(%q: tensor<?x8x?x60xf16>, %k: tensor<?x2x?x60xf16>, %v: tensor<?x2x?x60xf16>) {
  // expected-error @below {{'attn.prefill' op head dim 60 is not supported; it must be a multiple of 8 and at most 576}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x60xf16>, tensor<?x2x?x60xf16>, tensor<?x2x?x60xf16> -> tensor<?x8x?x60xf16>
  return
}

// -----

// attn-prefill-C4
func.func @large_dim(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x584xf16>) {
  // expected-error @below {{'attn.prefill' op head dim 584 is not supported; it must be a multiple of 8 and at most 576}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x584xf16> -> tensor<?x8x?x584xf16>
  return
}

// -----

// attn-prefill-C5
func.func @half_varlen(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %c: tensor<?xi32>) {
  // expected-error @below {{'attn.prefill' op cu_seqlens_q is given without cu_seqlens_kv; give both or neither}}
  %o = attn.prefill %q, %k, %v cu_seqlens_q(%c : tensor<?xi32>) : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C5
func.func @wide_offsets(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %c: tensor<?xi32>, %d: tensor<?xi64>) {
  // expected-error @below {{'attn.prefill' op cu_seqlens_kv is 'tensor<?xi64>'; it must be a rank-1 i32 tensor}}
  %o = attn.prefill %q, %k, %v cu_seqlens_q(%c : tensor<?xi32>) cu_seqlens_kv(%d : tensor<?xi64>) : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C5
func.func @varlen_and_lens(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %c: tensor<?xi32>) {
  // expected-error @below {{'attn.prefill' op kv_lens and cu_seqlens are both given}}
  %o = attn.prefill %q, %k, %v kv_lens(%c : tensor<?xi32>) cu_seqlens_q(%c : tensor<?xi32>) cu_seqlens_kv(%c : tensor<?xi32>) : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C6
func.func @size_without_table(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op page_size is given without block_table; give both or neither}}
  %o = attn.prefill %q, %k, %v {page_size = 16} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C6
func.func @table_without_size(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %l: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{'attn.prefill' op block_table is given without page_size; give both or neither}}
  %o = attn.prefill %q, %k, %v kv_lens(%l : tensor<?xi32>) block_table(%t : tensor<?x?xi32>) : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C6
func.func @zero_page(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %l: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{'attn.prefill' op page_size is 0; it must be at least 1}}
  %o = attn.prefill %q, %k, %v kv_lens(%l : tensor<?xi32>) block_table(%t : tensor<?x?xi32>) {page_size = 0} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C6
func.func @table_without_lens(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %t: tensor<?x?xi32>) {
  // expected-error @below {{'attn.prefill' op block_table is given without kv_lens}}
  %o = attn.prefill %q, %k, %v block_table(%t : tensor<?x?xi32>) {page_size = 16} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C6
func.func @pool_page(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x32x64xf16>, %v: tensor<?x2x32x64xf16>, %l: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{'attn.prefill' op pages of the pool hold 32 tokens and page_size is 16; they must agree}}
  %o = attn.prefill %q, %k, %v kv_lens(%l : tensor<?xi32>) block_table(%t : tensor<?x?xi32>) {page_size = 16} : tensor<?x8x?x64xf16>, tensor<?x2x32x64xf16>, tensor<?x2x32x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C7
func.func @lens(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %l: tensor<?x?xi32>) {
  // expected-error @below {{'attn.prefill' op kv_lens is 'tensor<?x?xi32>'; it must be a rank-1 i32 tensor}}
  %o = attn.prefill %q, %k, %v kv_lens(%l : tensor<?x?xi32>) : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C7
func.func @sinks(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %s: tensor<2xf32>) {
  // expected-error @below {{'attn.prefill' op sinks is 'tensor<2xf32>'; it must be tensor<8xf32>, a logit a query head}}
  %o = attn.prefill %q, %k, %v sinks(%s : tensor<2xf32>) : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C8
func.func @sugar_and_region(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op has both named masks and a mask region; say everything in one of them}}
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<top_left>]} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %r = arith.cmpi sle, %j, %i : i32
    attn.yield %r : i1
  }
  return
}

// -----

// attn-prefill-C8
func.func @score_as_mask(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op masks holds #attn.softcap<1.000000e+00 : f32>; named masks are #attn.causal and #attn.window}}
  %o = attn.prefill %q, %k, %v {masks = [#attn.softcap<1.0 : f32>]} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C8
func.func @mask_as_score(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op scores holds #attn.causal<top_left>; named scores are #attn.softcap and #attn.alibi}}
  %o = attn.prefill %q, %k, %v {scores = [#attn.causal<top_left>]} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C8
func.func @window_bound(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op window bound 2147483647 is too large; bounds must be below 1073741824 (a negative one means unbounded)}}
  %o = attn.prefill %q, %k, %v {masks = [#attn.window<2147483647, 0>]} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C8
func.func @softcap(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op softcap is 0.000000e+00 : f32; it must be finite and positive}}
  %o = attn.prefill %q, %k, %v {scores = [#attn.softcap<0.0 : f32>]} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C8
func.func @alibi(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op alibi has slopes for 4 heads; there are 8 query heads and slopes must cover them}}
  %o = attn.prefill %q, %k, %v {scores = [#attn.alibi<4>]} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-prefill-C9
func.func @mask_arguments(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op the mask region has arguments}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %r = arith.cmpi sle, %j, %i : i32
    attn.yield %r : i1
  }
  return
}

// -----

// attn-prefill-C9
func.func @score_yield(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op the score region yields ('i1'); it must yield ('f32')}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %r = arith.cmpi sle, %j, %i : i32
    // expected-note @below {{yielded here}}
    attn.yield %r : i1
  }
  return
}

// -----

// attn-prefill-C9
func.func @bounds_yield(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op the bounds region yields ('i32', 'i32'); it must yield ('i32', 'i32', 'i32', 'i32')}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %len_q: i32, %len_kv: i32):
    // expected-note @below {{yielded here}}
    attn.yield %first, %last : i32, i32
  }
  return
}

// -----

// attn-prefill-C9
func.func @two_blocks(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op the mask region has 2 blocks; it must have one}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    cf.br ^bb1
  ^bb1:
    %r = arith.cmpi sle, %j, %i : i32
    attn.yield %r : i1
  }
  return
}

// -----

// attn-prefill-C10
func.func @scale(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.prefill' op scale is -1.000000e+00 : f32; it must be finite and positive}}
  %o = attn.prefill %q, %k, %v {scale = -1.0 : f32} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-decode-C11
func.func @max_q(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.decode' op max_q is 65; it must be 1 to 64 (use attn.prefill for longer queries)}}
  %o = attn.decode %q, %k, %v {max_q = 65} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-decode-C12
func.func @partial_sinks(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %s: tensor<8xf32>) {
  // expected-error @below {{'attn.decode' op is partial and has sinks; a sink counts once per row: give it to the attn.combine}}
  %o, %lse = attn.decode %q, %k, %v sinks(%s : tensor<8xf32>) {max_q = 1, partial} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x?x8x?x64xf32>, tensor<?x?x8x?xf32>
  return
}

// -----

// attn-decode-C12
func.func @partial_output(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{it must be f32 [splits, batch, head, seq, dim]}}
  %o, %lse = attn.decode %q, %k, %v {max_q = 1, partial} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>, tensor<?x?x8x?xf32>
  return
}

// -----

// attn-decode-C12
func.func @partial_without_lse(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) {
  // expected-error @below {{'attn.decode' op is partial and has no lse; attn.combine needs it}}
  %o = attn.decode %q, %k, %v {max_q = 1, partial} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x?x8x?x64xf32>
  return
}

// -----

// attn-decode-C2
func.func @decode_group(%q: tensor<?x6x?x64xf16>, %k: tensor<?x4x?x64xf16>, %v: tensor<?x4x?x64xf16>) {
  // expected-error @below {{'attn.decode' op 6 query heads over 4 KV heads}}
  %o = attn.decode %q, %k, %v {max_q = 1} : tensor<?x6x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16> -> tensor<?x6x?x64xf16>
  return
}

// -----

// attn-combine-C1
func.func @parts(%p: tensor<?x?x8x?x64xf16>, %l: tensor<?x?x8x?xf32>) {
  // expected-error @below {{it must be f32 [splits, batch, head, seq, dim]}}
  %o = attn.combine %p, %l : tensor<?x?x8x?x64xf16>, tensor<?x?x8x?xf32> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-combine-C1
func.func @lse_parts(%p: tensor<?x?x8x?x64xf32>, %l: tensor<?x?x4x?xf32>) {
  // expected-error @below {{it must be f32 [splits, batch, head, seq] as in o_parts}}
  %o = attn.combine %p, %l : tensor<?x?x8x?x64xf32>, tensor<?x?x4x?xf32> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-combine-C2
func.func @combined(%p: tensor<?x?x8x?x64xf32>, %l: tensor<?x?x8x?xf32>) {
  // expected-error @below {{it must be a float tensor [batch, head, seq, dim] as in o_parts}}
  %o = attn.combine %p, %l : tensor<?x?x8x?x64xf32>, tensor<?x?x8x?xf32> -> tensor<?x8x?x32xf16>
  return
}

// -----

// attn-combine-C2
func.func @combined_lse(%p: tensor<?x?x8x?x64xf32>, %l: tensor<?x?x8x?xf32>) {
  // expected-error @below {{it must be f32 [batch, head, seq]}}
  %o, %lse = attn.combine %p, %l : tensor<?x?x8x?x64xf32>, tensor<?x?x8x?xf32> -> tensor<?x8x?x64xf16>, tensor<?x8x?xf16>
  return
}

// -----

// attn-combine-C2
func.func @combined_sinks(%p: tensor<?x?x8x?x64xf32>, %l: tensor<?x?x8x?xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{it must be f32 with a logit a head}}
  %o = attn.combine %p, %l sinks(%s : tensor<4xf32>) : tensor<?x?x8x?x64xf32>, tensor<?x?x8x?xf32> -> tensor<?x8x?x64xf16>
  return
}

// -----

// attn-lookup-C1
func.func @lookup_rank(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %t: tensor<?x?xf32>) {
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    // expected-error @below {{'attn.lookup' op has 1 indices for a tensor of rank 2; give one a dimension}}
    %x = attn.lookup %t[%i] : tensor<?x?xf32> -> f32
    attn.yield %s : f32
  }
  return
}

// -----

// attn-lookup-C1
func.func @lookup_type(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %t: tensor<?xf32>) {
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    // expected-error @below {{'attn.lookup' op gives 'i32' but the tensor holds 'f32'}}
    %x = attn.lookup %t[%i] : tensor<?xf32> -> i32
    attn.yield %s : f32
  }
  return
}
