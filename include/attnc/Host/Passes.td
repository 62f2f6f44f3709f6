// Passes of the host target, from linalg on tensors to loops of vectors.
#ifndef ATTNC_HOST_PASSES_TD
#define ATTNC_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def HostFuseTiles : Pass<"host-fuse-tiles", "::mlir::func::FuncOp"> {
  let summary = "Fuses elementwise tile programs so that a tile is walked once";
  let description = [{
    Input: the output of `convert-tile-to-linalg`. Fuses a `linalg.generic` that computes each element
    by itself into its consumer when the consumer is its only use, or when it is cheaper to compute
    again than to read back (constants, positions, broadcasts and up to four integer or float
    operations). Reductions and products are never fused into. Values are unchanged: the same scalar
    operations are applied in the same order.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numFused", "fused", "Producers fused into a consumer">];
}

def HostReuseTiles : Pass<"host-reuse-tiles", "::mlir::func::FuncOp"> {
  let summary = "Makes tiles updated in place, and loops carry one buffer each";
  let description = [{
    Input: fused linalg on tensors. An elementwise op whose output is new and which has an operand of
    the output's type that nobody else reads writes over that operand (`acc · correction`). Every
    value that an `scf.for` yields is materialised in the buffer of its iteration argument, which is a
    no-op where bufferisation finds it there already. Afterwards `one-shot-bufferize` needs no buffer
    that is allocated in one iteration and read in the next.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def HostVectorize : Pass<"host-vectorize", "::mlir::func::FuncOp"> {
  let summary = "Lowers linalg on buffers to loops of vectors";
  let description = [{
    Input: linalg on memrefs of static shape with unit inner stride. Products become a register-blocked
    loop nest: a block of `rows` × `columns`·`lanes` accumulators stays in registers over the whole
    reduction, each step of which broadcasts one element of `a` and multiplies it by a row of `b`.
    Elementwise ops and reductions run over the innermost dimension by `lanes`, then by the powers of
    two that are left, so that any width is covered without masks. The order of every sum depends only
    on shapes and `lanes`, never on the thread or the run.

    What has no vector form (a body that is not elementwise) becomes scalar loops and is counted.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 elements of a vector; a power of two">,
    Option<"rows", "rows", "int64_t", "8", "Rows of a product's register block">,
    Option<"columns", "columns", "int64_t", "2", "Vectors across of a product's register block">];
  let statistics = [Statistic<"numVector", "vector", "Ops lowered to vectors">,
                    Statistic<"numScalar", "scalar", "Ops lowered to scalar loops">];
}

def HostPlanBuffers : Pass<"host-plan-buffers", "::mlir::func::FuncOp"> {
  let summary = "Places all tile buffers of a kernel in one allocation";
  let description = [{
    Input: a function whose `memref.alloc`s have static shapes and no `memref.dealloc`s. Each buffer is
    live from its allocation to the last use of it or of a view of it within the allocation's block;
    buffers whose lives do not overlap share memory. One allocation at the entry, freed at every
    return, replaces all; it is small enough to stay in a core's cache.

    Fails when a loop carries a buffer from one iteration to the next.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
  let statistics = [Statistic<"arenaBytes", "arena-bytes", "Bytes of the arenas">,
                    Statistic<"bufferBytes", "buffer-bytes", "Bytes the buffers take unshared">];
}

def HostExpandMath : Pass<"host-expand-math", "::mlir::func::FuncOp"> {
  let summary = "Expands f32 exp2, exp, log2, log and tanh to arithmetic";
  let description = [{
    Works on scalars and vectors alike, so that a vector loop has no call in it. Errors are at most
    2 ulp over the whole range, subnormals included, but that exp2(x) = 0 for x < −126; log2(0) = −∞,
    NaN propagates. What is not expanded goes to the C library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
