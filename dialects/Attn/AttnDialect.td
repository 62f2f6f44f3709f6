// The attn dialect: what is computed, for a whole attention problem, as one op.
#ifndef ATTNC_DIALECTS_ATTN_ATTNDIALECT_TD
#define ATTNC_DIALECTS_ATTN_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::mlir::attn";
  let summary = "Attention problems: variants as regions, layouts and lengths as operands";
  let description = [{
    One op is one attention problem: `attn.prefill`, `attn.decode`, or `attn.combine`, which merges
    partial results. The tensors are values in the logical order [batch, head, seq, dim] whatever
    their memory layout; the variant is two regions:

    ```
      score (s, b, h, q, kv, len_q, len_kv) -> f32      what happens to a scaled logit
      mask  (b, h, q, kv, len_q, len_kv)    -> i1       whether query q may see key kv
    ```

    Regions are not isolated: run-time arguments (a softcap, a window, a bias tensor) are ordinary
    SSA values captured from the enclosing function. Named masks and scores (`#attn.causal`,
    `#attn.softcap`, …) are sugar that `attn-resolve-variant` turns into regions, so that every
    later pass sees one form. `attn-derive-kv-bounds` adds a third region, `bounds`, which says for
    a block of query rows which keys any of them can see and which keys all of them see.

    Positions inside regions are i32 indices within one sequence: `q` counts from 0 to len_q − 1 and
    `kv` from 0 to len_kv − 1. The position of query `q` among the keys, aligned bottom-right, is
    `q + len_kv − len_q`; the spec language calls that `q_pos`.

    Sequences are shorter than 2^30 tokens, and i32 arithmetic in mask regions must not overflow for
    positions inside them: the KV bounds are derived from what it means, not from how it wraps.

    Unlike `linalg` ops the op says nothing of loops or tiles; unlike a call to a library it can be
    taken apart: `convert-attn-to-tile` gives the tile program of one CTA.

    ```
    spec ──► attn (sugar) ──resolve-variant──► attn (regions) ──derive-kv-bounds──► attn (bounds)
         ──choose-config──► attn (config) ──split-kv──► attn (+ combine) ──convert-attn-to-tile──► tile
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
