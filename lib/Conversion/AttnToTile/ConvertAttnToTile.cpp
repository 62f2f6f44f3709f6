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

/// The kernels compute only what attention ops do: whatever else the function returned would be
/// lost.
static LogicalResult checkResults(func::FuncOp func, Operation *last) {
  Operation *terminator = func.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (operand.get().getDefiningOp() != last)
      return func.emitError() << "result " << index << " is not computed by '" << last->getName()
                              << "'; a kernel writes the outputs of the attention op and no others";
    if (!func.getResultAttrOfType<StringAttr>(index, kAttnName))
      return func.emitError() << "result " << index << " has no '" << kAttnName
                              << "'; the runtime binds results by name, so give it one";
  }
  return success();
}

/// Makes the kernels of a function's attention ops, in order.
static LogicalResult convertFunction(func::FuncOp func) {
  SmallVector<attn::AttentionOpInterface> problems;
  SmallVector<attn::CombineOp> merges;
  auto collected =
      func.walk(
          [&](Operation *op) -> WalkResult {
            auto problem = dyn_cast<attn::AttentionOpInterface>(op);
            auto merge = dyn_cast<attn::CombineOp>(op);
            if (!problem && !merge)
              return WalkResult::advance();
            if (op->getParentOp() != func || !func.getBody().hasOneBlock())
              return op->emitError()
                     << "is under control flow; a kernel computes it always, so place it at "
                        "the top level of a function of one block";
            if (problem)
              problems.push_back(problem);
            else
              merges.push_back(merge);
            return WalkResult::advance();
          });
  if (collected.wasInterrupted())
    return failure();
  if (problems.empty() && merges.empty())
    return success();
  if (problems.size() > 1 || merges.size() > 1)
    return func.emitError() << "holds " << problems.size() << " attention ops and " << merges.size()
                            << " attn.combine; a function holds at most one of each";
  if (merges.empty() && problems.front().isPartial())
    return problems.front()->emitError()
           << "is partial, but nothing merges its results; add an attn.combine";
  Operation *last = merges.empty() ? problems.front().getOperation() : merges.front();
  if (failed(checkResults(func, last)))
    return failure();
  for (attn::AttentionOpInterface problem : problems)
    if (failed(buildAttentionKernel(func, problem)))
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
