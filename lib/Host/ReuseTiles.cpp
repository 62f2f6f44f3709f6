// host-reuse-tiles: elementwise ops write over operands that die in them, loops carry one buffer.
#include "attnc/Host/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace attnc {
#define GEN_PASS_DEF_HOSTREUSETILES
#include "attnc/Host/Passes.h.inc"

namespace {

/// True if `value` may be overwritten by its only reader: that reader is in no loop that the value
/// is defined outside of, since it would read it again. A loaded tile is never overwritten (its
/// buffer may have readers that are no uses of the tile).
bool diesIn(Value value, Operation *reader) {
  return value.hasOneUse() && value.getParentBlock() == reader->getBlock() &&
         !value.getDefiningOp<bufferization::ToTensorOp>();
}

void reuseOperand(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumParallelLoops() != op.getNumLoops() ||
      op.getNumResults() != 1)
    return;
  OpOperand *init = op.getDpsInitOperand(0);
  if (!init->get().getDefiningOp<tensor::EmptyOp>())
    return;
  AffineMap outMap = op.getMatchingIndexingMap(init);
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get().getType() == init->get().getType() &&
        op.getMatchingIndexingMap(input) == outMap && diesIn(input->get(), op)) {
      init->set(input->get());
      return;
    }
}

void carryInPlace(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  OpBuilder builder(yield);
  for (auto [operand, carried] :
       llvm::zip_equal(yield->getOpOperands(), loop.getRegionIterArgs()))
    if (isa<RankedTensorType>(carried.getType()) && operand.get() != carried) {
      auto placed = bufferization::MaterializeInDestinationOp::create(
          builder, yield.getLoc(), carried.getType(), operand.get(), carried);
      operand.set(placed.getResult());
    }
}

struct HostReuseTiles : impl::HostReuseTilesBase<HostReuseTiles> {
  void runOnOperation() override {
    getOperation().walk([](linalg::GenericOp op) { reuseOperand(op); });
    getOperation().walk([](scf::ForOp loop) { carryInPlace(loop); });
  }
};

} // namespace
} // namespace attnc
