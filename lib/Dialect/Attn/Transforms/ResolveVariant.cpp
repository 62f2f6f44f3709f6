// attn-resolve-variant: named masks and scores become regions.
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/bit.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNRESOLVEVARIANT
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Names for the arguments that mask and score regions share.
namespace {
struct Positions {
  Value h, q, kv, lenQ, lenKv;

  /// `args` are (b, h, q, kv, len_q, len_kv).
  explicit Positions(ValueRange args)
      : h(args[1]), q(args[2]), kv(args[3]), lenQ(args[4]), lenKv(args[5]) {}
};
} // namespace

static Value constantI32(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value constantF32(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value)));
}

/// Position of the query among the keys, aligned bottom-right.
static Value bottomRight(ImplicitLocOpBuilder &b, const Positions &at) {
  Value sum = arith::AddIOp::create(b, at.q, at.lenKv);
  return arith::SubIOp::create(b, sum, at.lenQ);
}

static void buildMask(ImplicitLocOpBuilder &b, const NamedMaskBounds &bounds, Region &region) {
  Block *block = createMaskBlock(b, region, b.getLoc());
  b.setInsertionPointToEnd(block);
  Positions at(block->getArguments());
  Value visible;
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(b, predicate, lhs, rhs);
    visible = visible ? arith::AndIOp::create(b, visible, holds).getResult() : holds;
  };
  if (bounds.left || bounds.right) {
    Value position = bottomRight(b, at);
    // Offsets are added to the query's side: on tiles that side is one value a row.
    if (bounds.right) {
      Value last = *bounds.right == 0
                       ? position
                       : arith::AddIOp::create(b, position, constantI32(b, *bounds.right));
      require(arith::CmpIPredicate::sle, at.kv, last);
    }
    if (bounds.left) {
      Value first = *bounds.left == 0
                        ? position
                        : arith::SubIOp::create(b, position, constantI32(b, *bounds.left));
      require(arith::CmpIPredicate::sge, at.kv, first);
    }
  }
  if (bounds.topLeft)
    require(arith::CmpIPredicate::sle, at.kv, at.q);
  YieldOp::create(b, visible);
}

/// cap · tanh(s / cap). The reciprocal of a constant may replace the division (arcp): that moves
/// the result by at most an ulp, and a division per logit costs more than the tanh.
static Value buildSoftcap(ImplicitLocOpBuilder &b, SoftcapAttr softcap, Value s) {
  Value cap = constantF32(b, softcap.getCap().getValueAsDouble());
  Value ratio = arith::DivFOp::create(b, s, cap, arith::FastMathFlags::arcp);
  return arith::MulFOp::create(b, math::TanhOp::create(b, ratio), cap);
}

/// s − slope(h)·(q_pos − kv). With n the power of two of the attribute's page, slope = 2^(−4m/n),
/// where m = 2(h + 1) for h < n and 2(h − n) + 1 after; −4m/n is exact in f32.
static Value buildAlibi(ImplicitLocOpBuilder &b, AlibiAttr alibi, const Positions &at, Value s) {
  int64_t n = llvm::bit_floor(static_cast<uint64_t>(alibi.getHeads()));
  Value twice = arith::AddIOp::create(b, at.h, at.h);
  Value m = arith::AddIOp::create(b, twice, constantI32(b, 2));
  if (alibi.getHeads() != n) {
    Value beyond = arith::AddIOp::create(b, twice, constantI32(b, 1 - 2 * n));
    Value inFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at.h, constantI32(b, n));
    m = arith::SelectOp::create(b, inFirst, m, beyond);
  }
  Value mFloat = arith::SIToFPOp::create(b, b.getF32Type(), m);
  Value exponent = arith::MulFOp::create(b, mFloat, constantF32(b, -4.0 / n));
  Value slope = math::Exp2Op::create(b, exponent);
  Value distance = arith::SubIOp::create(b, bottomRight(b, at), at.kv);
  Value distanceFloat = arith::SIToFPOp::create(b, b.getF32Type(), distance);
  return arith::SubFOp::create(b, s, arith::MulFOp::create(b, slope, distanceFloat));
}

static void buildScore(ImplicitLocOpBuilder &b, ArrayAttr scores, Region &region) {
  Block *block = createScoreBlock(b, region, b.getLoc());
  b.setInsertionPointToEnd(block);
  Value s = block->getArgument(0);
  Positions at(block->getArguments().drop_front());
  for (Attribute score : scores) {
    if (auto softcap = dyn_cast<SoftcapAttr>(score))
      s = buildSoftcap(b, softcap, s);
    else
      s = buildAlibi(b, cast<AlibiAttr>(score), at, s);
  }
  YieldOp::create(b, s);
}

bool attn::resolveVariant(AttentionOpInterface op) {
  ArrayAttr masks = op.getMasksAttr(), scores = op.getScoresAttr();
  if (!masks && !scores)
    return false;
  ImplicitLocOpBuilder builder(op.getLoc(), op.getContext());
  NamedMaskBounds bounds = combineNamedMasks(masks);
  if (bounds.left || bounds.right || bounds.topLeft)
    buildMask(builder, bounds, op.getMask());
  if (scores && !scores.empty())
    buildScore(builder, scores, op.getScore());
  op->removeAttr("masks");
  op->removeAttr("scores");
  return true;
}

namespace {
struct AttnResolveVariant : public attn::impl::AttnResolveVariantBase<AttnResolveVariant> {
  using AttnResolveVariantBase::AttnResolveVariantBase;

  void runOnOperation() override {
    bool changed = false;
    getOperation().walk([&](AttentionOpInterface op) {
      if (resolveVariant(op)) {
        ++numResolved;
        changed = true;
      }
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
