// convert-attn-to-tile: every function that holds an attention problem becomes tile kernels.
#include "AttnToTile.h"

#include "attnc/Conversion/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attnc {
#define GEN_PASS_DEF_CONVERTATTNTOTILE
#include "attnc/Conversion/Passes.h.inc"
} // namespace attnc

using namespace mlir;
using namespace attnc;

/// Makes the kernels of a function's attention ops, in order.
static LogicalResult convertFunction(func::FuncOp func) {
  SmallVector<attn::AttentionOpInterface> problems;
  SmallVector<attn::CombineOp> merges;
  for (Operation &op : func.getBody().front()) {
    if (auto problem = dyn_cast<attn::AttentionOpInterface>(op))
      problems.push_back(problem);
    else if (auto merge = dyn_cast<attn::CombineOp>(op))
      merges.push_back(merge);
  }
  if (problems.empty() && merges.empty())
    return success();
  if (problems.size() != 1 || merges.size() > 1)
    return func.emitError() << "holds " << problems.size() << " attention ops and " << merges.size()
                            << " attn.combine; a function holds one problem and at most one merge";
  if (problems.front().isPartial() && merges.empty())
    return problems.front()->emitError()
           << "is partial, but nothing merges its results; add an attn.combine";
  if (failed(buildAttentionKernel(func, problems.front())))
    return failure();
  for (attn::CombineOp merge : merges)
    if (failed(buildCombineKernel(func, merge)))
      return failure();
  func.erase();
  return success();
}

namespace {
struct ConvertAttnToTile : attnc::impl::ConvertAttnToTileBase<ConvertAttnToTile> {
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!func.isExternal() && failed(convertFunction(func)))
        return signalPassFailure();
  }
};
} // namespace
