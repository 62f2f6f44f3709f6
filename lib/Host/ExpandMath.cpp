// host-expand-math: f32 exp2, exp, log2, log and tanh as arithmetic on scalars and vectors.
//
// Polynomials are minimax fits (Remez, weighted for relative error), coefficients rounded to f32.
#include "attnc/Host/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>

using namespace mlir;

namespace attnc {
#define GEN_PASS_DEF_HOSTEXPANDMATH
#include "attnc/Host/Passes.h.inc"

namespace {

/// Builds arithmetic on f32 (or i32) scalars, or on vectors of one shape.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc, Type floatType)
      : b(builder), loc(loc), floatType(floatType),
        intType(shapedLike(floatType, builder.getI32Type())) {}

  Value number(float value) { return splat(floatType, b.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return splat(intType, b.getI32IntegerAttr(value)); }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value iadd(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value isub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value shl(Value x, int32_t by) { return arith::ShLIOp::create(b, loc, x, integer(by)); }
  Value sar(Value x, int32_t by) { return arith::ShRSIOp::create(b, loc, x, integer(by)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, intType, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, floatType, x); }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b, loc, floatType, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value copySign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }

  /// Coefficients from the constant term up.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value result = number(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, number(coefficient));
    return result;
  }

  /// x within [low, high]; NaN stays NaN.
  Value clamp(Value x, float low, float high) {
    x = select(compare(arith::CmpFPredicate::OLT, x, number(low)), number(low), x);
    return select(compare(arith::CmpFPredicate::OGT, x, number(high)), number(high), x);
  }

private:
  static Type shapedLike(Type type, Type elementType) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(elementType);
    return elementType;
  }

  Value splat(Type type, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b, loc,
                                       DenseElementsAttr::get(vector, ArrayRef<Attribute>(value)));
    return arith::ConstantOp::create(b, loc, value);
  }

  OpBuilder &b;
  Location loc;
  Type floatType, intType;
};

constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;
/// 1.5·2²³: adding it leaves the rounded integer in the low bits of the sum. Unlike a conversion
/// instruction, this has a defined result for NaN.
constexpr float kRoundingShift = 12582912.0f;

/// e^r for |r| ≤ 0.35, times 2^n for the integer n that `shifted` = n + kRoundingShift holds. The
/// power is applied in two halves, so that results below the normal range are rounded once.
Value expTimesPower(Arithmetic &a, Value r, Value shifted) {
  Value tail = a.polynomial(r, {4.999999404e-01f, 1.666651517e-01f, 4.166840762e-02f,
                                8.369348012e-03f, 1.381540671e-03f});
  Value fraction = a.add(a.fma(a.mul(r, r), tail, r), a.number(1.0f));
  Value n = a.isub(a.bits(shifted), a.bits(a.number(kRoundingShift)));
  Value half = a.sar(n, 1), rest = a.isub(n, half);
  auto power = [&](Value exponent) {
    return a.fromBits(a.shl(a.iadd(exponent, a.integer(127)), 23));
  };
  return a.mul(a.mul(fraction, power(half)), power(rest));
}

/// Weights below the normal range become zero, as on a GPU: they cannot change a sum whose largest
/// weight is 1, and arithmetic on subnormals is many times slower.
Value expandExp2(Arithmetic &a, Value x) {
  Value exponent = a.clamp(x, -130.0f, 129.0f);
  Value shifted = a.add(exponent, a.number(kRoundingShift));
  Value fraction = a.sub(exponent, a.sub(shifted, a.number(kRoundingShift)));
  Value result = expTimesPower(a, a.mul(fraction, a.number(kLn2)), shifted);
  Value isTiny = a.compare(arith::CmpFPredicate::OLT, x, a.number(-126.0f));
  return a.select(isTiny, a.number(0.0f), result);
}

Value expandExp(Arithmetic &a, Value x) {
  x = a.clamp(x, -110.0f, 90.0f);
  Value shifted = a.fma(x, a.number(kLog2e), a.number(kRoundingShift));
  Value n = a.sub(shifted, a.number(kRoundingShift));
  // ln 2 in two parts, the first with enough trailing zeros for n times it to be exact.
  Value r = a.fma(n, a.number(-0.693359375f), x);
  r = a.fma(n, a.number(2.12194440e-4f), r);
  return expTimesPower(a, r, shifted);
}

/// x = 2^e · (1 + r), 1 + r in [√½, √2), for positive finite x.
struct Split {
  Value e, r;
};

Split splitPowerOfTwo(Arithmetic &a, Value x) {
  Value isSubnormal = a.compare(arith::CmpFPredicate::OLT, x, a.number(0x1p-126f));
  Value normal = a.select(isSubnormal, a.mul(x, a.number(0x1p23f)), x);
  Value bits = a.bits(normal);
  // 0x3f3504f3 is √½.
  Value exponent = a.sar(a.isub(bits, a.integer(0x3f3504f3)), 23);
  Value mantissa = a.fromBits(a.isub(bits, a.shl(exponent, 23)));
  Value e = a.sub(a.toFloat(exponent), a.select(isSubnormal, a.number(23.0f), a.number(0.0f)));
  return {e, a.sub(mantissa, a.number(1.0f))};
}

/// The logarithm's values at 0, at negative numbers, ∞ and NaN.
Value patchLogarithm(Arithmetic &a, Value x, Value result) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  result = a.select(a.compare(arith::CmpFPredicate::OLT, x, a.number(inf)), result, x);
  result = a.select(a.compare(arith::CmpFPredicate::OLT, x, a.number(0.0f)), a.number(nan), result);
  return a.select(a.compare(arith::CmpFPredicate::OEQ, x, a.number(0.0f)), a.number(-inf), result);
}

Value expandLog2(Arithmetic &a, Value x) {
  Split split = splitPowerOfTwo(a, x);
  Value ratio = a.polynomial(split.r, {1.442695022e+00f, -7.213473320e-01f, 4.809106588e-01f,
                                       -3.607037067e-01f, 2.879159451e-01f, -2.389441580e-01f,
                                       2.157182097e-01f, -2.072758526e-01f, 1.258370429e-01f});
  return patchLogarithm(a, x, a.fma(split.r, ratio, split.e));
}

Value expandLog(Arithmetic &a, Value x) {
  Split split = splitPowerOfTwo(a, x);
  Value tail = a.polynomial(split.r, {-0.5f, 3.333388865e-01f, -2.500132620e-01f, 1.996382773e-01f,
                                      -1.657812148e-01f, 1.490817368e-01f, -1.426199079e-01f,
                                      8.711154014e-02f});
  Value square = a.mul(split.r, split.r);
  Value small = a.fma(split.e, a.number(-2.12194440e-4f), a.mul(square, tail));
  Value result = a.fma(split.e, a.number(0.693359375f), a.add(split.r, small));
  return patchLogarithm(a, x, result);
}

Value expandTanh(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x), square = a.mul(x, x);
  Value tail = a.polynomial(square, {-3.333328366e-01f, 1.333146691e-01f, -5.374135450e-02f,
                                     2.064366825e-02f, -5.709500052e-03f});
  Value small = a.fma(a.mul(square, tail), x, x);
  Value power = expandExp(a, a.add(magnitude, magnitude));
  Value large = a.sub(a.number(1.0f), a.div(a.number(2.0f), a.add(power, a.number(1.0f))));
  Value isSmall = a.compare(arith::CmpFPredicate::OLT, magnitude, a.number(0.625f));
  return a.select(isSmall, small, a.copySign(large, x));
}

template <typename OpTy, Value (*expand)(Arithmetic &, Value)>
struct ExpandOp : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    Arithmetic arithmetic(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, expand(arithmetic, op.getOperand()));
    return success();
  }
};

struct HostExpandMath : impl::HostExpandMathBase<HostExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandOp<math::Exp2Op, expandExp2>, ExpandOp<math::ExpOp, expandExp>,
                 ExpandOp<math::Log2Op, expandLog2>, ExpandOp<math::LogOp, expandLog>,
                 ExpandOp<math::TanhOp, expandTanh>>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace attnc
