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
  let description = [{
    Attaches a `#attn.config` to every attention op without one. Candidates are ranked by the static
    model of `attnc/Target/ConfigModel.h` over the target's capability row: shared memory, registers,
    CTAs an SM, and the cycles its matrix, shared-memory and exponential pipes need. Remarks (category
    `config`) name the choice, the next candidates and what was rejected and why. `config=` forces
    fields; the rest follow. An element type or head dim that no candidate can take is an error that
    says what the target allows.

    A decode packs the query heads of a KV head into rows unless its KV bounds depend on the head, so
    it comes after `attn-derive-kv-bounds`; `attn-split-kv` and `convert-attn-to-tile` follow.

    ```mlir
    attn.prefill …   ──►   attn.prefill … {config = #attn.config<blockM = …, blockN = …, warps = …, stages = …>}
    ```
    Examples are in `test/Dialect/Attn/choose-config.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "Target: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120 or host">,
    Option<"overrides", "config", "std::string", "\"\"", "Fields to force, as block_m=64,block_n=32">
  ];
}

def AttnSplitKv : Pass<"attn-split-kv", "::mlir::func::FuncOp"> {
  let summary = "Divides a decode's keys over CTAs and merges with attn.combine";
  let description = [{
    Input: `attn.decode` whose config has `splitKv`. Output: the same op with `partial`, its o and lse
    f32 with a leading dimension of splits, and an `attn.combine` that merges them to the results of
    before. Sinks move to the merge, so that they are counted once however many splits there are; a
    log-sum-exp is made even if nobody asked for it, as the merge weighs by it. Other ops, and decodes
    without a config or whose config does not split, are left alone. The number of splits is a
    run-time argument of the kernels. After `attn-choose-config`, before `convert-attn-to-tile`.

    ```mlir
    %o = attn.decode %q, %k, %v sinks(%s) …   ──►  %p, %l = attn.decode %q, %k, %v … partial …
                                                   %o = attn.combine %p, %l sinks(%s) …
    ```
    The example is `@split` in `test/Dialect/Attn/split-kv.mlir`.
  }];
  let statistics = [Statistic<"numSplit", "num-split", "decodes split">];
}

#endif
