// Passes inside the attn dialect.
#ifndef ATTNC_DIALECT_ATTN_PASSES_TD
#define ATTNC_DIALECT_ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnResolveVariant : Pass<"attn-resolve-variant", "::mlir::func::FuncOp"> {
  let summary = "Turns named masks and scores into regions";
  let description = [{
    Input: attention ops with any of `masks`, `scores` or regions. Output: the same ops without
    `masks` and `scores`; what they said is in the mask and score regions, so that every later pass
    sees one form. Run first. Idempotent; an op without sugar is left as it is. What the op computes
    does not change.

    Masks are put together (AND) before anything is built: of several bounds on one side the tightest
    is kept, and a bottom-right causal mask is the right bound 0. If nothing remains (a window without
    bounds), there is no mask region. Scores apply in the order of the list. `alibi` takes any head
    count in closed form; a power of two needs no select.

    The softcap's division carries `arcp`: a target may multiply by the reciprocal of the constant.

    From `test/Dialect/Attn/resolve-variant.mlir`:

    ```mlir
    %o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>]}
        : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
    ```

    becomes

    ```mlir
    %o = attn.prefill %q, %k, %v
        : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
    mask {
    ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
      %0 = arith.addi %i, %len_kv : i32
      %1 = arith.subi %0, %len_q : i32
      %2 = arith.cmpi sle, %j, %1 : i32
      attn.yield %2 : i1
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numResolved", "ops-resolved", "Ops whose named masks or scores became regions">];
}

def AttnDeriveKvBounds : Pass<"attn-derive-kv-bounds", "::mlir::func::FuncOp"> {
  let summary = "Derives from the mask which keys a block of rows can see, and which all rows see";
  let description = [{
    Input: attention ops without named masks (an error otherwise: run `attn-resolve-variant` first).
    Output: each has a `bounds` region; one that is there already is kept. The mask stays.

    For rows q_first to q_last of one sequence (of which at least one must exist: 0 ≤ q_first ≤
    min(q_last, len_q − 1)) the region yields lower, full_lower, full_upper and upper with

    ```
    0 ≤ lower ≤ full_lower ≤ full_upper ≤ upper ≤ len_kv
    some row sees kv               ⇒  lower ≤ kv < upper         the other keys may be skipped
    full_lower ≤ kv < full_upper   ⇒  every row sees kv          no mask is needed there
    ```

    Algorithm: (1) The mask becomes two unions of integer polyhedra over (q, kv): the pairs that may
    be visible and the pairs that may be hidden. Symbols are the lengths, b, h, captured scalars,
    lookups and whatever else does not depend on q or kv. What is not affine (a lookup by position)
    may hold and may fail, so both sets over-approximate. (2) Both are projected along q ∈ [q_first,
    min(q_last, len_q − 1)] by Fourier–Motzkin and freed of constraints that others imply. (3) Visible
    is the hull of the first; full is what the second leaves of [0, len_kv), where of a hidden range
    in the middle the larger side is kept at run time. (4) Maxima and minima lose the operands that a
    simplex proves superfluous.

    The result is exact for every affine mask whose visible keys are one range and whose constraints
    on q have coefficients of which one in each pair is ±1: causal, windows, prefix-LM, and also
    `kv_pos >= 4 and 2*kv_pos <= q_pos`. It is always sound, provided that the mask's own i32
    arithmetic does not overflow and lengths are below 2^30. Bounds are i32 where that suffices; a
    captured scalar may be INT_MAX, so that bounds which add to it are computed in i64.

    From `test/Dialect/Attn/derive-kv-bounds.mlir`, for a causal mask:

    ```mlir
    bounds {
    ^bb0(%b: i32, %h: i32, %q_first: i32, %q_last: i32, %len_q: i32, %len_kv: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %0 = arith.addi %len_kv, %q_first : i32
      %1 = arith.subi %0, %len_q : i32
      %2 = arith.addi %1, %c1 : i32
      %full_upper = arith.maxsi %2, %c0 : i32
      %3 = arith.subi %len_q, %c1 : i32
      %4 = arith.minsi %q_last, %3 : i32
      %5 = arith.addi %len_kv, %4 : i32
      %6 = arith.subi %5, %len_q : i32
      %7 = arith.addi %6, %c1 : i32
      %upper = arith.maxsi %7, %c0 : i32
      attn.yield %c0, %c0, %full_upper, %upper : i32, i32, i32, i32
    }
    ```
  }];
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
