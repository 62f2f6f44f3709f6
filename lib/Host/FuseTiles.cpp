// host-fuse-tiles: fuses elementwise producers into elementwise consumers.
#include "attnc/Host/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attnc {
#define GEN_PASS_DEF_HOSTFUSETILES
#include "attnc/Host/Passes.h.inc"

namespace {

/// Computing an element again costs no more than writing and reading it would.
bool isCheap(linalg::GenericOp producer) {
  unsigned operations = 0;
  for (Operation &op : producer.getBody()->without_terminator()) {
    if (op.getNumRegions() != 0 || isa<memref::LoadOp, arith::DivFOp, arith::DivSIOp, arith::RemSIOp>(op) ||
        isa<math::MathDialect>(op.getDialect()))
      return false;
    ++operations;
  }
  return operations <= 4;
}

struct HostFuseTiles : impl::HostFuseTilesBase<HostFuseTiles> {
  void runOnOperation() override {
    auto worthwhile = [&](OpOperand *operand) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      auto consumer = cast<linalg::LinalgOp>(operand->getOwner());
      if (!producer || consumer.getNumParallelLoops() != consumer.getNumLoops())
        return false;
      bool fuse = operand->get().hasOneUse() || isCheap(producer);
      numFused += fuse;
      return fuse;
    };
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, worthwhile);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace attnc
