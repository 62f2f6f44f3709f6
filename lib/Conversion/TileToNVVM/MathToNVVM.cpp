// Scalar f32 math on the special function unit, where its accuracy is within the contract.
//
// ex2.approx and lg2.approx are within 2 ulp near 1, rcp.approx within 1 ulp. tanh.approx (2^-11
// relative) is not used: a softcap of 50 would turn that into 0.02 in a logit.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace attnc;
using namespace mlir;

static constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

static Value approximate(PatternRewriter &rewriter, Location loc, StringRef intrinsic, Value x) {
  return LLVM::CallIntrinsicOp::create(rewriter, loc, x.getType(),
                                       rewriter.getStringAttr(intrinsic), ValueRange{x})
      .getResult(0);
}
static Value exp2Approx(PatternRewriter &rewriter, Location loc, Value x) {
  return approximate(rewriter, loc, "llvm.nvvm.ex2.approx.ftz", x);
}
static Value log2Approx(PatternRewriter &rewriter, Location loc, Value x) {
  return approximate(rewriter, loc, "llvm.nvvm.lg2.approx.ftz.f", x);
}
static Value constant(PatternRewriter &rewriter, Location loc, double value) {
  return arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(value));
}
static Value scaled(PatternRewriter &rewriter, Location loc, Value x, double factor) {
  return arith::MulFOp::create(rewriter, loc, x, constant(rewriter, loc, factor));
}

namespace {

template <typename OpT> struct ScalarPattern : OpRewritePattern<OpT> {
  using Lowering = Value (*)(PatternRewriter &, Location, Value);
  ScalarPattern(MLIRContext *context, Lowering lower) : OpRewritePattern<OpT>(context), lower(lower) {}
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not a scalar f32");
    rewriter.replaceOp(op, lower(rewriter, op.getLoc(), op.getOperand()));
    return success();
  }
  Lowering lower;
};

} // namespace

/// tanh x = sign(x)·(1 − e)/(1 + e), e = exp(−2|x|): absolute error about 1e-7.
static Value tanhByExp2(PatternRewriter &rewriter, Location loc, Value x) {
  Value magnitude = math::AbsFOp::create(rewriter, loc, x);
  Value e = exp2Approx(rewriter, loc, scaled(rewriter, loc, magnitude, -2 * kLog2E));
  Value one = constant(rewriter, loc, 1);
  Value numerator = arith::SubFOp::create(rewriter, loc, one, e);
  Value denominator = arith::AddFOp::create(rewriter, loc, one, e);
  Value reciprocal = approximate(rewriter, loc, "llvm.nvvm.rcp.approx.ftz.f", denominator);
  Value value = arith::MulFOp::create(rewriter, loc, numerator, reciprocal);
  return math::CopySignOp::create(rewriter, loc, value, x);
}

void attnc::populateMathToNVVMPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ScalarPattern<math::Exp2Op>>(context, exp2Approx);
  patterns.add<ScalarPattern<math::Log2Op>>(context, log2Approx);
  patterns.add<ScalarPattern<math::ExpOp>>(
      context, +[](PatternRewriter &r, Location loc, Value x) {
        return exp2Approx(r, loc, scaled(r, loc, x, kLog2E));
      });
  patterns.add<ScalarPattern<math::LogOp>>(
      context, +[](PatternRewriter &r, Location loc, Value x) {
        return scaled(r, loc, log2Approx(r, loc, x), kLn2);
      });
  patterns.add<ScalarPattern<math::TanhOp>>(context, tanhByExp2);
}
