// tile-overlap-products: the softmax of one block runs while P·V of the block before does.
//
//   before, one step:   S = Q·Kᵀ(n)   softmax(n)   O = O·c(n) + P(n)·V(n)
//   after,  one step:   issue Q·Kᵀ(n);  O·c(n−1);  issue P(n−1)·V(n−1)
//                       wait S;  softmax(n);  wait O
#include "attnc/Dialect/Tile/Passes.h"
#include "attnc/Dialect/Tile/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEOVERLAPPRODUCTS
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// The parts of a consumer's loop body.
struct StepParts {
  KvLoopOp loop;
  MmaOp scores, output;
  /// Position among the carried values of the accumulator.
  unsigned accIndex = 0;
  /// What P·V needs of the softmax, by value: P, and what scales the accumulator (or null).
  Value weights, correction;
  /// The wait before and the arrival after each product.
  Operation *scoresWait = nullptr, *scoresRelease = nullptr;
  Operation *outputWait = nullptr, *outputRelease = nullptr;
  /// The scaling of the accumulator, in order.
  SmallVector<Operation *> scaling;

  static FailureOr<StepParts> find(KvLoopOp loop);
};

class Rotation {
public:
  explicit Rotation(StepParts parts)
      : parts(std::move(parts)), loop(this->parts.loop), b(loop.getLoc(), loop) {}
  void run();

private:
  /// The state between steps: the carried values, and P and its correction of the last block.
  struct State {
    SmallVector<Value> carried;
    Value weights, correction;
  };

  Value count() { return loop.getCarried().back(); }
  Value issueScores(IRMapping &map);
  Value issueOutput(const State &state, Value previousCount);
  void finishOutput(State &state, Value inflight, Value previousCount);
  State softmax(IRMapping &map, bool maskInPlace);
  IRMapping enter(Value start, ValueRange carried);
  void cloneWithIndices(Operation *op, IRMapping &map);
  void releaseScores(Value previousCount);

  StepParts parts;
  KvLoopOp loop;
  ImplicitLocOpBuilder b;
};

} // namespace

FailureOr<StepParts> StepParts::find(KvLoopOp loop) {
  StepParts parts;
  parts.loop = loop;
  Block &body = loop.getBody().front();
  for (MmaOp product : body.getOps<MmaOp>())
    (product.getTransposeB() ? parts.scores : parts.output) = product;
  if (!parts.scores || !parts.output)
    return loop.emitError("the loop does not have the products Q·Kᵀ and P·V");
  auto isProduct = [&](Value v) { return v == parts.output.getResult(); };
  auto yielded = body.getTerminator()->getOperands();
  parts.accIndex = std::distance(yielded.begin(), llvm::find_if(yielded, isProduct));
  parts.weights = parts.output.getA();

  // acc = broadcast(correction) · carried accumulator.
  Value carriedAcc = loop.getCarried()[parts.accIndex];
  if (auto scaled = parts.output.getAcc().getDefiningOp<arith::MulFOp>()) {
    Value factor = scaled.getLhs() == carriedAcc ? scaled.getRhs() : scaled.getLhs();
    auto broadcast = factor.getDefiningOp<BroadcastOp>();
    if (!broadcast || (scaled.getLhs() != carriedAcc && scaled.getRhs() != carriedAcc))
      return parts.output.emitError("the accumulator is not the carried one times a row factor");
    parts.correction = broadcast.getSource();
    parts.scaling = {broadcast, scaled};
  } else if (parts.output.getAcc() != carriedAcc) {
    return parts.output.emitError("the accumulator of P·V is not the carried one");
  }

  // The waits and releases that warp specialisation put around each product.
  auto previous = [](Operation *op) {
    while (op && !isa<MbarrierWaitOp>(op))
      op = op->getPrevNode();
    return op;
  };
  auto next = [](Operation *op) {
    while (op && !isa<MbarrierArriveOp>(op))
      op = op->getNextNode();
    return op;
  };
  parts.scoresWait = previous(parts.scores);
  parts.scoresRelease = next(parts.scores);
  parts.outputWait = previous(parts.output);
  parts.outputRelease = next(parts.output);
  if (!parts.scoresWait || !parts.scoresRelease || !parts.outputWait || !parts.outputRelease)
    return loop.emitError("the products are not guarded by barriers; run tile-specialize-warps");
  return parts;
}

IRMapping Rotation::enter(Value start, ValueRange carried) {
  IRMapping map;
  map.map(loop.getBlockStart(), start);
  for (auto [argument, value] : llvm::zip(loop.getCarried(), carried))
    map.map(argument, value);
  return map;
}

/// Clones an op with the index arithmetic it needs, unless that is mapped already.
void Rotation::cloneWithIndices(Operation *op, IRMapping &map) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (producer && producer->getBlock() == op->getBlock() && !map.contains(operand) &&
        operand.getType().isSignlessInteger(32))
      cloneWithIndices(producer, map);
  }
  b.clone(*op, map);
}

Value Rotation::issueScores(IRMapping &map) {
  MmaOp product = parts.scores;
  cloneWithIndices(parts.scoresWait, map);
  cloneWithIndices(product.getB().getDefiningOp(), map);
  return MmaAsyncOp::create(b, map.lookupOrDefault(product.getA()),
                            map.lookupOrDefault(product.getB()),
                            map.lookupOrDefault(product.getAcc()), product.getTransposeBAttr());
}

void Rotation::releaseScores(Value previousCount) {
  IRMapping map;
  map.map(count(), previousCount);
  cloneWithIndices(parts.scoresRelease, map);
}

/// Issues P·V of the block whose P, correction and accumulator `state` holds. The scaling comes
/// first: it needs no barrier, and hides behind the product issued before.
Value Rotation::issueOutput(const State &state, Value previousCount) {
  IRMapping map;
  map.map(count(), previousCount);
  map.map(loop.getCarried()[parts.accIndex], state.carried[parts.accIndex]);
  if (parts.correction)
    map.map(parts.correction, state.correction);
  for (Operation *op : parts.scaling)
    b.clone(*op, map);
  MmaOp product = parts.output;
  cloneWithIndices(parts.outputWait, map);
  cloneWithIndices(product.getB().getDefiningOp(), map);
  return MmaAsyncOp::create(b, state.weights, map.lookupOrDefault(product.getB()),
                            map.lookupOrDefault(product.getAcc()), UnitAttr());
}

void Rotation::finishOutput(State &state, Value inflight, Value previousCount) {
  // P rides along: its registers are read until the product is done.
  auto done = MmaWaitOp::create(b, TypeRange{inflight.getType(), state.weights.getType()},
                                /*pending=*/0u, ValueRange{inflight, state.weights});
  state.carried[parts.accIndex] = done.getResult(0);
  IRMapping map;
  map.map(count(), previousCount);
  cloneWithIndices(parts.outputRelease, map);
}

/// Everything of the step between the scores and P·V. `map` holds the scores.
Rotation::State Rotation::softmax(IRMapping &map, bool maskInPlace) {
  llvm::SmallPtrSet<Operation *, 16> elsewhere{
      parts.scores,       parts.output,       parts.scoresWait,
      parts.outputWait,   parts.scoresRelease, parts.outputRelease,
      parts.scores.getB().getDefiningOp(),     parts.output.getB().getDefiningOp()};
  elsewhere.insert(parts.scaling.begin(), parts.scaling.end());
  SmallVector<MaskOp> masks;
  for (Operation &op : loop.getBody().front().without_terminator()) {
    if (elsewhere.contains(&op))
      continue;
    Operation *copy = b.clone(op, map);
    if (auto mask = dyn_cast<MaskOp>(copy))
      masks.push_back(mask);
  }
  State state;
  for (Value value : loop.getBody().front().getTerminator()->getOperands())
    state.carried.push_back(map.lookupOrDefault(value));
  state.weights = map.lookupOrDefault(parts.weights);
  if (parts.correction)
    state.correction = map.lookupOrDefault(parts.correction);
  if (maskInPlace) {
    for (MaskOp mask : masks) {
      Value scores = mask.getResult();
      // The masked value replaces the op everywhere, in the state too.
      Value masked = applyMask(mask);
      for (Value &value : state.carried)
        if (value == scores)
          value = masked;
    }
    b.setInsertionPointToEnd(b.getInsertionBlock());
  }
  return state;
}

void Rotation::run() {
  Value nonEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, loop.getLower(),
                                         loop.getUpper());
  auto guard = scf::IfOp::create(b, loop.getResultTypes(), nonEmpty, /*withElse=*/true);
  b.setInsertionPointToEnd(guard.elseBlock());
  scf::YieldOp::create(b, loop.getInits());

  // The first block's scores, its mask applied: it may be a partial block.
  b.setInsertionPointToEnd(guard.thenBlock());
  IRMapping map = enter(loop.getLower(), loop.getInits());
  Value scores = issueScores(map);
  scores = MmaWaitOp::create(b, scores.getType(), 0u, scores).getResult(0);
  map.map(parts.scores.getResult(), scores);
  releaseScores(loop.getInits().back());
  State state = softmax(map, /*maskInPlace=*/true);
  state.carried[parts.accIndex] = loop.getInits()[parts.accIndex];

  // The steady state: carried values, then P and its correction of the block before.
  SmallVector<Value> inits(state.carried);
  inits.push_back(state.weights);
  if (parts.correction)
    inits.push_back(state.correction);
  Value step = arith::ConstantOp::create(b, b.getI32IntegerAttr(loop.getStep()));
  Value second = arith::AddIOp::create(b, loop.getLower(), step);
  auto rotated = KvLoopOp::create(b, ValueRange(inits).getTypes(), second, loop.getUpper(),
                                  loop.getFullLower(), loop.getFullUpper(), inits,
                                  loop.getStepAttr());
  SmallVector<Type> types{b.getI32Type()};
  llvm::append_range(types, ValueRange(inits).getTypes());
  Block *body = b.createBlock(&rotated.getBody(), {}, types,
                              SmallVector<Location>(types.size(), loop.getLoc()));
  b.setInsertionPointToStart(body);
  ValueRange arguments = rotated.getCarried();
  size_t numCarried = state.carried.size();
  State previous{SmallVector<Value>(arguments.take_front(numCarried)), arguments[numCarried],
                 parts.correction ? arguments[numCarried + 1] : Value()};
  Value current = previous.carried.back();
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value before = arith::SubIOp::create(b, current, one);
  map = enter(rotated.getBlockStart(), previous.carried);
  Value inflightScores = issueScores(map);
  Value inflightOutput = issueOutput(previous, before);
  scores = MmaWaitOp::create(b, inflightScores.getType(), 1u, inflightScores).getResult(0);
  map.map(parts.scores.getResult(), scores);
  releaseScores(current);
  State next = softmax(map, /*maskInPlace=*/false);
  finishOutput(previous, inflightOutput, before);
  next.carried[parts.accIndex] = previous.carried[parts.accIndex];
  SmallVector<Value> yields(next.carried);
  yields.push_back(next.weights);
  if (parts.correction)
    yields.push_back(next.correction);
  YieldOp::create(b, yields);

  // The last block's P·V.
  b.setInsertionPointAfter(rotated);
  ValueRange results = rotated.getResults();
  State last{SmallVector<Value>(results.take_front(numCarried)), results[numCarried],
             parts.correction ? results[numCarried + 1] : Value()};
  Value lastCount = arith::SubIOp::create(
      b, last.carried.back(), arith::ConstantOp::create(b, b.getI32IntegerAttr(1)).getResult());
  Value inflight = issueOutput(last, lastCount);
  finishOutput(last, inflight, lastCount);
  scf::YieldOp::create(b, last.carried);

  loop.replaceAllUsesWith(guard.getResults());
  loop.erase();
}

namespace {
struct OverlapProducts : tile::impl::TileOverlapProductsBase<OverlapProducts> {
  void runOnOperation() override {
    SmallVector<KvLoopOp> loops;
    getOperation().walk([&](WarpRolesOp roles) {
      roles.walk([&](KvLoopOp loop) { loops.push_back(loop); });
    });
    for (KvLoopOp loop : loops) {
      FailureOr<StepParts> parts = StepParts::find(loop);
      if (failed(parts))
        return signalPassFailure();
      Rotation(*parts).run();
    }
  }
};
} // namespace
