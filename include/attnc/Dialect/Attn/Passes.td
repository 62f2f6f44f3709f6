// Passes inside the attn dialect.
#ifndef ATTNC_DIALECT_ATTN_PASSES_TD
#define ATTNC_DIALECT_ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnResolveVariant : Pass<"attn-resolve-variant", "::mlir::func::FuncOp"> {
  let summary = "Turns named masks and scores into regions";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numResolved", "ops-resolved", "Ops whose named masks or scores became regions">];
}

def AttnDeriveKvBounds : Pass<"attn-derive-kv-bounds", "::mlir::func::FuncOp"> {
  let summary = "Derives from the mask which keys a block of rows can see, and which all rows see";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numDerived", "ops-derived", "Ops that got a bounds region">,
    Statistic<"numOpaque", "opaque-atoms", "Mask conditions that are not affine and bound nothing">
  ];
}

def AttnChooseConfig : Pass<"attn-choose-config", "::mlir::func::FuncOp"> {
  let summary = "Chooses tile sizes, warps and stages for a target";
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "Target: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120 or host">,
    Option<"overrides", "config", "std::string", "\"\"", "Fields to force, as block_m=64,block_n=32">
  ];
}

def AttnSplitKv : Pass<"attn-split-kv", "::mlir::func::FuncOp"> {
  let summary = "Divides a decode's keys over CTAs and merges with attn.combine";
  let statistics = [Statistic<"numSplit", "num-split", "decodes split">];
}

#endif
