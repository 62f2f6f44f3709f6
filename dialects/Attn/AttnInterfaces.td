// The interface by which passes treat attn.prefill and attn.decode alike.
#ifndef ATTNC_DIALECTS_ATTN_ATTNINTERFACES_TD
#define ATTNC_DIALECTS_ATTN_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    A softmax(score(scale·QKᵀ))·V problem. Shapes are logical: q [B, Hq, Sq, Dqk], k [B, Hkv, Skv,
    Dqk] (or pools [pages, Hkv, page, D] when paged), v likewise with Dv, o [B, Hq, Sq, Dv] and lse
    [B, Hq, Sq] in natural log. Head counts and dims are static, the rest dynamic.
  }];
  let methods = [
    InterfaceMethod<"Query tensor", "::mlir::TypedValue<::mlir::RankedTensorType>", "getQ">,
    InterfaceMethod<"Key tensor or page pool", "::mlir::TypedValue<::mlir::RankedTensorType>", "getK">,
    InterfaceMethod<"Value tensor or page pool", "::mlir::TypedValue<::mlir::RankedTensorType>", "getV">,
    InterfaceMethod<"i32 [B], or null", "::mlir::Value", "getKvLens">,
    InterfaceMethod<"i32 [B+1], or null", "::mlir::Value", "getCuSeqlensQ">,
    InterfaceMethod<"i32 [B+1], or null", "::mlir::Value", "getCuSeqlensKv">,
    InterfaceMethod<"i32 [B, max_pages], or null", "::mlir::Value", "getBlockTable">,
    InterfaceMethod<"f32 [Hq], or null", "::mlir::Value", "getSinks">,
    InterfaceMethod<"Output", "::mlir::Value", "getO">,
    InterfaceMethod<"Log-sum-exp output, or null", "::mlir::Value", "getLse">,
    InterfaceMethod<"Mask region, maybe empty", "::mlir::Region &", "getMask">,
    InterfaceMethod<"Score region, maybe empty", "::mlir::Region &", "getScore">,
    InterfaceMethod<"KV bounds region, maybe empty", "::mlir::Region &", "getBounds">,
    InterfaceMethod<"Named masks, or null", "::mlir::ArrayAttr", "getMasksAttr">,
    InterfaceMethod<"Named scores, or null", "::mlir::ArrayAttr", "getScoresAttr">,
    InterfaceMethod<"Configuration, or null", "::mlir::attn::ConfigAttr", "getConfigAttr">,
    InterfaceMethod<"Scale attribute, or null for 1/sqrt(Dqk)", "::mlir::FloatAttr", "getScaleAttr">,
    InterfaceMethod<"Default memory layout", "::mlir::attn::Layout", "getLayout">,
    InterfaceMethod<"Tokens a page, or none", "::std::optional<uint64_t>", "getPageSize">,
    InterfaceMethod<"Most query tokens a sequence has (decode), or none for unbounded",
                    "::std::optional<int64_t>", "getQueryLimit">,
    InterfaceMethod<"Whether o and lse are partial results, one slice a KV split", "bool", "isPartial">
  ];
  let extraSharedClassDeclaration = [{
    int64_t getHeadsQ() { return $_op.getQ().getType().getDimSize(1); }
    int64_t getHeadsKv() { return $_op.getK().getType().getDimSize(1); }
    /// Query heads that share one KV head.
    int64_t getGroup() { return getHeadsQ() / getHeadsKv(); }
    int64_t getDimQK() { return $_op.getQ().getType().getDimSize(3); }
    int64_t getDimV() { return $_op.getV().getType().getDimSize(3); }
    /// The scale in force: the attribute, or 1/sqrt(Dqk).
    double getScaleValue() {
      if (auto attr = $_op.getScaleAttr())
        return attr.getValueAsDouble();
      return 1.0 / ::std::sqrt(static_cast<double>(getDimQK()));
    }
    bool isVarlen() { return static_cast<bool>($_op.getCuSeqlensQ()); }
    bool isPaged() { return static_cast<bool>($_op.getBlockTable()); }
  }];
}

#endif
