// Attributes of the attn dialect: named masks and scores (sugar), memory layout, configuration.
#ifndef ATTNC_DIALECTS_ATTN_ATTNATTRS_TD
#define ATTNC_DIALECTS_ATTN_ATTNATTRS_TD

include "AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Attn_Attr<string name, string attrMnemonic> : AttrDef<Attn_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Attn_Align : I32EnumAttr<"Align", "which corner a causal mask is aligned to", [
    I32EnumAttrCase<"BottomRight", 0, "bottom_right">, I32EnumAttrCase<"TopLeft", 1, "top_left">]> {
  let cppNamespace = "::mlir::attn";
  let genSpecializedAttr = 0;
}

def Attn_Layout : I32EnumAttr<"Layout", "default memory order of q, k, v and o", [
    I32EnumAttrCase<"BSHD", 0, "bshd">, I32EnumAttrCase<"BHSD", 1, "bhsd">]> {
  let cppNamespace = "::mlir::attn";
  let genSpecializedAttr = 0;
}

def Attn_LayoutAttr : EnumAttr<Attn_Dialect, Attn_Layout, "layout"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_CausalAttr : Attn_Attr<"Causal", "causal"> {
  let summary = "Query q sees key kv when kv ≤ q + len_kv − len_q (bottom_right) or kv ≤ q (top_left)";
  let parameters = (ins EnumParameter<Attn_Align>:$align);
  let assemblyFormat = "`<` $align `>`";
}

def Attn_WindowAttr : Attn_Attr<"Window", "window"> {
  let summary = "Keys from `left` before to `right` after the query's position, both inclusive";
  let description = [{
    With p = q + len_kv − len_q: p − left ≤ kv ≤ p + right. A negative bound means unbounded. A
    model's "window of W tokens including self" is left = W − 1, right = 0.
  }];
  let parameters = (ins "int64_t":$left, "int64_t":$right);
  let assemblyFormat = "`<` $left `,` $right `>`";
}

def Attn_SoftcapAttr : Attn_Attr<"Softcap", "softcap"> {
  let summary = "s becomes cap · tanh(s / cap)";
  let parameters = (ins "::mlir::FloatAttr":$cap);
  let assemblyFormat = "`<` $cap `>`";
}

def Attn_AlibiAttr : Attn_Attr<"Alibi", "alibi"> {
  let summary = "s becomes s − slope(h) · (q_pos − kv), the slopes of the ALiBi paper for `heads` heads";
  let description = [{
    With n the largest power of two not above `heads`: slope(h) = 2^(−8(h+1)/n) for h < n, and
    2^(−4(2(h−n)+1)/n) for the rest. Slopes given by the caller are a score expression instead.
  }];
  let parameters = (ins "int64_t":$heads);
  let assemblyFormat = "`<` $heads `>`";
}

def Attn_ConfigAttr : Attn_Attr<"Config", "config"> {
  let summary = "How one CTA covers the problem: tile sizes in rows and keys, warps, pipeline stages";
  let description = [{
    `block_m` query rows (after packing) by `block_n` keys a step; `warps` warps a CTA, each owning
    block_m / warps whole rows; `stages` buffers for K and V each; `pack_gqa`: the query heads of one
    KV head (and, in decode, the query tokens) are rows of one tile; `q_in_registers`: Q is held as
    matrix operands in registers for the whole loop, else re-read from shared memory each step;
    `split_kv`: the KV range is divided over CTAs and merged by `attn.combine`; `warp_specialized`: a
    producer warp group copies by TMA for `warps` consumer warps that issue asynchronous products
    (wgmma); `persistent`: as many CTAs as multiprocessors loop over the tiles; `ctas_per_sm`: the
    assembler keeps registers low enough for that many CTAs on a multiprocessor (0: no demand);
    `section_bytes`: where later rows see more keys, tiles are taken heaviest first within sections of
    heads whose K and V are about that large, so that they stay in the L2 cache (0: no sections).
  }];
  let parameters = (ins "int64_t":$blockM, "int64_t":$blockN, "int64_t":$warps, "int64_t":$stages,
                        DefaultValuedParameter<"bool", "false">:$packGqa,
                        DefaultValuedParameter<"bool", "true">:$qInRegisters,
                        DefaultValuedParameter<"bool", "false">:$splitKv,
                        DefaultValuedParameter<"bool", "false">:$warpSpecialized,
                        DefaultValuedParameter<"bool", "false">:$persistent,
                        DefaultValuedParameter<"int64_t", "0">:$ctasPerSm,
                        DefaultValuedParameter<"int64_t", "0">:$sectionBytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
