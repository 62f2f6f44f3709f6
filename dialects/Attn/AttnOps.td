// Ops of the attn dialect. Constraint ids (C1, …) name the verifier's checks and the tests.
#ifndef ATTNC_DIALECTS_ATTN_ATTNOPS_TD
#define ATTNC_DIALECTS_ATTN_ATTNOPS_TD

include "AttnAttrs.td"
include "AttnInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

/// What prefill and decode share; they differ in what bounds the query length.
class Attn_AttentionOp<string mnemonic, dag extraArgs>
    : Attn_Op<mnemonic, [Pure, AttrSizedOperandSegments,
                         DeclareOpInterfaceMethods<Attn_AttentionOpInterface, ["getQueryLimit", "isPartial"]>]> {
  dag commonArgs = (ins
    AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
    Optional<AnyRankedTensor>:$kv_lens,
    Optional<AnyRankedTensor>:$cu_seqlens_q,
    Optional<AnyRankedTensor>:$cu_seqlens_kv,
    Optional<AnyRankedTensor>:$block_table,
    Optional<AnyRankedTensor>:$sinks,
    OptionalAttr<F32Attr>:$scale,
    DefaultValuedAttr<Attn_LayoutAttr, "::mlir::attn::Layout::BSHD">:$layout,
    OptionalAttr<I64Attr>:$page_size,
    OptionalAttr<ArrayAttr>:$masks,
    OptionalAttr<ArrayAttr>:$scores,
    OptionalAttr<Attn_ConfigAttr>:$config);
  let arguments = !con(commonArgs, extraArgs);
  let results = (outs AnyRankedTensor:$o, Optional<AnyRankedTensor>:$lse);
  let regions = (region AnyRegion:$mask, AnyRegion:$score, AnyRegion:$bounds);
  let assemblyFormat = [{
    $q `,` $k `,` $v
    (`kv_lens` `(` $kv_lens^ `:` type($kv_lens) `)`)?
    (`cu_seqlens_q` `(` $cu_seqlens_q^ `:` type($cu_seqlens_q) `)`)?
    (`cu_seqlens_kv` `(` $cu_seqlens_kv^ `:` type($cu_seqlens_kv) `)`)?
    (`block_table` `(` $block_table^ `:` type($block_table) `)`)?
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `->` type($o) (`,` type($lse)^)?
    (`mask` $mask^)? (`score` $score^)? (`bounds` $bounds^)?
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_PrefillOp : Attn_AttentionOp<"prefill", (ins)> {
  let summary = "Attention of many queries a sequence";
  let description = [{
    O = softmax(mask(score(scale·QKᵀ)))·V for every batch entry and query head, in f32 until O is
    rounded to its type. Query head h reads KV head h / (Hq / Hkv). A row that sees no key gives
    O = 0 and LSE = −∞. A sink logit enters the denominator once per row and head, after score and
    mask; LSE includes it (of a row that sees no key, LSE is the sink).

    Keys past `len_kv` (the tensor's extent, `kv_lens[b]`, or `cu_seqlens_kv`) have no effect even
    if they hold NaN. Keys hidden by an explicit mask region must be finite.

    Constraints:
    - C1: q, k, v have rank 4 and one 16- or 32-bit float type each; k and v agree in it.
    - C2: head counts and dims are static and positive; Hq is a multiple of Hkv; k and v agree in heads.
    - C3: q and k agree in Dqk; o has the shape of q with Dv; lse, if present, is f32 [B, Hq, Sq].
    - C4: dims are multiples of 8 and at most 576.
    - C5: `cu_seqlens_q` and `cu_seqlens_kv` come together, are rank-1 i32, and exclude `kv_lens`.
    - C6: `block_table` (rank-2 i32) needs `page_size` ≥ 1 and `kv_lens`, and `page_size` needs it;
      pages of the pools hold `page_size` tokens.
    - C7: `kv_lens` is rank-1 i32; `sinks` is f32 [Hq].
    - C8: `masks` holds named masks, `scores` named scores; a region and its sugar exclude each other.
      Window bounds are below 2^30, a softcap is finite and positive, ALiBi's slopes cover all query heads.
    - C9: regions, where not empty, are one block with the arguments and yield types of the dialect's page.
    - C10: `scale`, if given, is finite and positive.

    ```mlir
    %o, %lse = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>]}
        : tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
       -> tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
    ```
  }];
}

def Attn_DecodeOp : Attn_AttentionOp<"decode", (ins I64Attr:$max_q, UnitAttr:$partial)> {
  let summary = "Attention of a few queries a sequence against a long KV cache";
  let description = [{
    The function of `attn.prefill`, with at most `max_q` query tokens a sequence, so that the
    schedule may pack the query heads of a KV head and split the KV range over CTAs.

    With `partial`, o is f32 [splits, B, Hq, Sq, Dv] and lse f32 [splits, B, Hq, Sq]: slice s holds the
    normalised result over the s-th part of the keys, to be merged by `attn.combine`.

    Constraints: those of `attn.prefill` (by the same ids), and
    - C11: 1 ≤ max_q ≤ 64.
    - C12: `partial` has no sinks, and o and lse are f32 with a leading splits dimension.
  }];
}

def Attn_CombineOp : Attn_Op<"combine", [Pure]> {
  let summary = "Merges normalised partial results by their log-sum-exps";
  let description = [{
    lse = ln Σ exp(lseᵢ) (and the sink), o = Σ exp(lseᵢ − lse)·oᵢ over the leading dimension. The
    operation is associative and commutative up to rounding; (0, −∞) is its neutral element, exactly.

    Constraints:
    - C1: o_parts is f32 [splits, B, H, S, D] and lse_parts f32 [splits, B, H, S].
    - C2: o is a float tensor [B, H, S, D], lse, if present, f32 [B, H, S]; sinks f32 [H].
  }];
  let arguments = (ins AnyRankedTensor:$o_parts, AnyRankedTensor:$lse_parts,
                       Optional<AnyRankedTensor>:$sinks,
                       DefaultValuedAttr<Attn_LayoutAttr, "::mlir::attn::Layout::BSHD">:$layout);
  let results = (outs AnyRankedTensor:$o, Optional<AnyRankedTensor>:$lse);
  let assemblyFormat = [{
    $o_parts `,` $lse_parts (`sinks` `(` $sinks^ `:` type($sinks) `)`)? attr-dict
    `:` type($o_parts) `,` type($lse_parts) `->` type($o) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
}

def Attn_LookupOp : Attn_Op<"lookup", [Pure]> {
  let summary = "Reads one element of a captured tensor inside a region";
  let description = [{
    Used for biases, slopes, document ids and other tensor arguments. Every index must be inside the
    tensor for each pair of positions with q < len_q and kv < len_kv; the schedule reads at no other.

    Constraints:
    - C1: as many indices as the tensor has dimensions; the result is its element type.
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<I32>:$indices);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor) `->` type($value)";
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "Ends a mask, score or bounds region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif
