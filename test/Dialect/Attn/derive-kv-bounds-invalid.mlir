// RUN: attn-opt %s --attn-derive-kv-bounds --verify-diagnostics

func.func @sugar_left(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // expected-error @below {{'attn.prefill' op has named masks; KV bounds are derived from a mask region: run attn-resolve-variant first}}
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}
