// tile-split-kv-range: a kv_loop becomes scf.for loops over partial, full and partial blocks.
#include "attnc/Dialect/Tile/Passes.h"
#include "attnc/Dialect/Tile/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESPLITKVRANGE
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Whether two scalars are known to be equal: one value, or equal constants.
static bool knownEqual(Value a, Value b) {
  APInt x, y;
  return a == b ||
         (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) && x == y);
}

/// Where the full blocks begin and end, both within [lower, upper].
static std::pair<Value, Value> fullBlocks(ImplicitLocOpBuilder &b, KvLoopOp loop) {
  Value step = arith::ConstantOp::create(b, b.getI32IntegerAttr(loop.getStep()));
  Value stepMinusOne = arith::ConstantOp::create(b, b.getI32IntegerAttr(loop.getStep() - 1));
  auto roundDown = [&](Value keys) {
    return b.createOrFold<arith::MulIOp>(b.createOrFold<arith::DivUIOp>(keys, step), step);
  };
  Value lower = loop.getLower(), upper = loop.getUpper();
  Value begin = lower;
  // The lower end is a block start, so that equal ends need no rounding.
  if (!knownEqual(loop.getFullLower(), lower)) {
    begin = roundDown(b.createOrFold<arith::AddIOp>(loop.getFullLower(), stepMinusOne));
    begin = b.createOrFold<arith::MaxSIOp>(begin, lower);
    begin = b.createOrFold<arith::MinSIOp>(begin, upper);
  }
  Value end = roundDown(loop.getFullUpper());
  if (!knownEqual(loop.getFullUpper(), upper))
    end = b.createOrFold<arith::MinSIOp>(end, upper);
  end = b.createOrFold<arith::MaxSIOp>(end, begin);
  return {begin, end};
}

Value tile::applyMask(MaskOp mask) {
  ImplicitLocOpBuilder b(mask.getLoc(), mask);
  auto yield = cast<YieldOp>(mask.getBody().front().getTerminator());
  mask->getBlock()->getOperations().splice(Block::iterator(mask),
                                           mask.getBody().front().getOperations(),
                                           mask.getBody().front().begin(), Block::iterator(yield));
  auto type = cast<RankedTensorType>(mask.getType());
  auto negInf = FloatAttr::get(type.getElementType(), -std::numeric_limits<double>::infinity());
  Value hidden = arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(negInf)));
  Value selected = arith::SelectOp::create(b, yield.getValues().front(), mask.getScores(), hidden);
  mask.replaceAllUsesWith(selected);
  mask.erase();
  return selected;
}

/// Erases the ops of a loop body that only a dropped mask used.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Writes before `loop` an scf.for with the body of `loop` over [lower, upper) unless that is known
/// to be empty; returns the values carried out.
static SmallVector<Value> emitLoop(ImplicitLocOpBuilder &b, KvLoopOp loop, Value lower, Value upper,
                                   ValueRange inits, bool full, unsigned &numLoops) {
  if (knownEqual(lower, upper))
    return inits;
  ++numLoops;
  Value step = arith::ConstantOp::create(b, b.getI32IntegerAttr(loop.getStep()));
  auto result =
      scf::ForOp::create(b, lower, upper, step, inits,
                         [&](OpBuilder &builder, Location loc, Value start, ValueRange carried) {
                           IRMapping map;
                           map.map(loop.getBlockStart(), start);
                           map.map(loop.getCarried(), carried);
                           for (Operation &op : loop.getBody().front().without_terminator())
                             builder.clone(op, map);
                           SmallVector<Value> next;
                           for (Value value : loop.getBody().front().getTerminator()->getOperands())
                             next.push_back(map.lookupOrDefault(value));
                           scf::YieldOp::create(builder, loc, next);
                         });
  SmallVector<MaskOp> masks;
  result.walk([&](MaskOp mask) { masks.push_back(mask); });
  for (MaskOp mask : masks) {
    if (full) {
      mask.replaceAllUsesWith(mask.getScores());
      mask.erase();
    } else {
      applyMask(mask);
    }
  }
  if (full)
    eraseDeadOps(*result.getBody());
  return result.getResults();
}

/// Splits one loop; returns how many scf.for loops it became.
static unsigned splitKvLoop(KvLoopOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  SmallVector<Value> carried(loop.getInits());
  bool hasMask =
      loop.getBody().walk([](MaskOp) { return WalkResult::interrupt(); }).wasInterrupted();
  unsigned numLoops = 0;
  auto emit = [&](Value lower, Value upper, bool full) {
    carried = emitLoop(b, loop, lower, upper, carried, full, numLoops);
  };
  if (!hasMask) {
    emit(loop.getLower(), loop.getUpper(), /*full=*/true);
  } else {
    auto [begin, end] = fullBlocks(b, loop);
    emit(loop.getLower(), begin, /*full=*/false);
    emit(begin, end, /*full=*/true);
    emit(end, loop.getUpper(), /*full=*/false);
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
  return numLoops;
}

namespace {
struct TileSplitKvRange : tile::impl::TileSplitKvRangeBase<TileSplitKvRange> {
  void runOnOperation() override {
    SmallVector<KvLoopOp> loops;
    getOperation().walk([&](KvLoopOp loop) { loops.push_back(loop); });
    if (loops.empty())
      return markAllAnalysesPreserved();
    for (KvLoopOp loop : loops) {
      ++numSplit;
      numLoops += splitKvLoop(loop);
    }
  }
};
} // namespace
