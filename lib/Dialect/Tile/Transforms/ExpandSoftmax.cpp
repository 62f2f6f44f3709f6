// tile-expand-softmax: softmax_step becomes row reductions, exp2 and fma.
#include "attnc/Dialect/Tile/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEEXPANDSOFTMAX
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static void expandSoftmaxStep(SoftmaxStepOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto tileType = cast<RankedTensorType>(op.getScores().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  auto constant = [&](RankedTensorType type, APFloat value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
  };
  APFloat scale = op.getExponentScale();
  const llvm::fltSemantics &f32 = scale.getSemantics();

  Value blockMax = ReduceOp::create(b, rowType, ReduceKind::Max, op.getScores(), /*dim=*/1);
  Value newMax = arith::MaxNumFOp::create(b, op.getMax(), blockMax);
  // −∞ − (−∞) is NaN; a row that has seen no score yet measures from 0 and gets weights 0.
  Value negInf = constant(rowType, APFloat::getInf(f32, /*Negative=*/true));
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, newMax, negInf);
  Value safeMax =
      arith::SelectOp::create(b, isEmpty, constant(rowType, APFloat::getZero(f32)), newMax);

  // The exponent of a weight is s·c − m·c with the product m·c rounded. Its rounding is one factor on
  // the weights and on their sum, and cancels, as long as the weights stay near 1 and so within the
  // range of a 16-bit type. Where |m·c| is 2²⁴ or more, f32 holds scores only to about one in the
  // exponent, and weights are 0 or 1 for all that is known: there c = 1 makes the products exact.
  Value rowScale = constant(rowType, scale);
  Value limit = constant(rowType, APFloat(f32, "16777216.0"));
  auto scaleOf = [&](Value max) -> Value {
    Value magnitude = math::AbsFOp::create(b, arith::MulFOp::create(b, max, rowScale));
    Value isHuge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, magnitude, limit);
    return arith::SelectOp::create(b, isHuge, constant(rowType, APFloat(f32, "1.0")), rowScale);
  };
  Value newScale = scaleOf(safeMax);
  Value offset = arith::MulFOp::create(b, safeMax, newScale);
  Value negOffset = BroadcastOp::create(b, tileType, arith::NegFOp::create(b, offset), /*dim=*/1);
  Value tileScale = BroadcastOp::create(b, tileType, newScale, /*dim=*/1);
  Value exponent = math::FmaOp::create(b, op.getScores(), tileScale, negOffset);
  Value weights = math::Exp2Op::create(b, exponent);

  // The difference of the rounded products, not an fma: it is exactly the change of the offset that
  // the weights of this and of earlier blocks were made with.
  Value oldOffset = arith::MulFOp::create(b, op.getMax(), scaleOf(op.getMax()));
  Value correction = math::Exp2Op::create(b, arith::SubFOp::create(b, oldOffset, offset));

  Value blockSum = ReduceOp::create(b, rowType, ReduceKind::Sum, weights, /*dim=*/1);
  Value newSum = math::FmaOp::create(b, op.getSum(), correction, blockSum);
  op.replaceAllUsesWith(ValueRange{weights, newMax, newSum, correction});
  op.erase();
}

namespace {
struct TileExpandSoftmax : tile::impl::TileExpandSoftmaxBase<TileExpandSoftmax> {
  void runOnOperation() override {
    SmallVector<SoftmaxStepOp> steps;
    getOperation().walk([&](SoftmaxStepOp step) { steps.push_back(step); });
    if (steps.empty())
      return markAllAnalysesPreserved();
    for (SoftmaxStepOp step : steps)
      expandSoftmaxStep(step);
    numExpanded += steps.size();
  }
};
} // namespace
