// tile-pipeline-loads: the loads that feed products in a kv_loop become asynchronous copies into
// staged shared memory, issued stages − 1 steps ahead.
#include "attnc/Dialect/Tile/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPIPELINELOADS
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// A shared buffer for `stages` tiles of this type; rows are padded to an odd number of 16-byte
/// chunks, so that the eight rows of a matrix read fall into different banks.
static SharedType stagedBufferType(RankedTensorType tile, int64_t stages) {
  int64_t chunk = 128 / tile.getElementTypeBitWidth();
  int64_t columns = tile.getDimSize(1);
  int64_t pitch = columns + (columns / chunk % 2 == 0 ? chunk : 0);
  return SharedType::get(tile.getContext(), {stages, tile.getDimSize(0), columns},
                         tile.getElementType(), pitch);
}

static SharedType stageType(SharedType buffer) {
  return SharedType::get(buffer.getContext(), buffer.getShape().drop_front(),
                         buffer.getElementType(), buffer.getPitch());
}

/// The tile.load or row-form tile.gather behind an operand of a product, if it has no other use.
static Operation *loadBehind(Value operand) {
  Operation *producer = operand.getDefiningOp();
  if (!isa_and_nonnull<LoadOp, GatherOp>(producer) || !operand.hasOneUse())
    return nullptr;
  return producer;
}

/// Ops of the loop body that `root` needs, in order; empty optional if they need carried values.
static std::optional<SetVector<Operation *>> addressSlice(Operation *root, KvLoopOp loop) {
  SetVector<Operation *> slice;
  bool usesCarried = false;
  auto visit = [&](auto &&self, Operation *op) -> void {
    for (Value operand : op->getOperands()) {
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        if (argument.getOwner() == &loop.getBody().front() && argument != loop.getBlockStart())
          usesCarried = true;
        continue;
      }
      Operation *producer = operand.getDefiningOp();
      if (producer->getBlock() == op->getBlock() && !slice.contains(producer)) {
        self(self, producer);
        slice.insert(producer);
      }
    }
  };
  visit(visit, root);
  if (usesCarried)
    return std::nullopt;
  return slice;
}

/// Emits the asynchronous form of `load` for the block that starts at `start`.
static void emitCopy(OpBuilder &builder, Operation *load, const SetVector<Operation *> &slice,
                     Value oldStart, Value start, Value target) {
  IRMapping map;
  map.map(oldStart, start);
  for (Operation *op : slice)
    builder.clone(*op, map);
  Location loc = load->getLoc();
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return map.lookupOrDefault(v); });
  };
  if (auto op = dyn_cast<LoadOp>(load)) {
    CopyAsyncOp::create(builder, loc, op.getSource(), mapped(op.getIndices()),
                        map.lookupOrDefault(op.getLimit()), target);
    return;
  }
  auto op = cast<GatherOp>(load);
  Value where = op.getWhere() ? map.lookupOrDefault(op.getWhere()) : Value();
  GatherAsyncOp::create(builder, loc, op.getSource(), mapped(op.getIndices()), where, target);
}

namespace {
/// One load that moves to shared memory.
struct StagedLoad {
  Operation *load;
  SetVector<Operation *> slice;
  Value buffer;
};
} // namespace

static FailureOr<SmallVector<StagedLoad>> collectLoads(KvLoopOp loop) {
  SmallVector<StagedLoad> result;
  for (MmaOp product : loop.getBody().front().getOps<MmaOp>()) {
    Operation *load = loadBehind(product.getB());
    if (!load || load->getBlock() != product->getBlock())
      continue;
    std::optional<SetVector<Operation *>> slice = addressSlice(load, loop);
    if (!slice)
      return load->emitError("the address of a pipelined load depends on values the loop carries");
    result.push_back({load, *slice, Value()});
  }
  return result;
}

/// Issues every copy of the block at `start` into `stage` if that block exists, and closes the group.
static void emitPrefetch(OpBuilder &builder, Location loc, KvLoopOp loop,
                         ArrayRef<StagedLoad> loads, Value oldStart, Value start, Value stage) {
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, start,
                                       loop.getUpper());
  scf::IfOp::create(builder, loc, exists, [&](OpBuilder &nested, Location nestedLoc) {
    for (const StagedLoad &staged : loads) {
      auto buffer = cast<SharedType>(staged.buffer.getType());
      Value target = StageOp::create(nested, nestedLoc, stageType(buffer), staged.buffer, stage);
      emitCopy(nested, staged.load, staged.slice, oldStart, start, target);
    }
    scf::YieldOp::create(nested, nestedLoc);
  });
  AsyncCommitOp::create(builder, loc);
}

static LogicalResult pipelineLoop(KvLoopOp loop, int64_t stages) {
  FailureOr<SmallVector<StagedLoad>> loads = collectLoads(loop);
  if (failed(loads))
    return failure();
  if (loads->empty())
    return success();

  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), value);
  };
  for (StagedLoad &staged : *loads)
    staged.buffer = AllocSharedOp::create(
        builder, staged.load->getLoc(),
        stagedBufferType(cast<RankedTensorType>(staged.load->getResult(0).getType()), stages));

  // Prologue: the first stages − 1 blocks. Each is its own commit group, empty if past the end.
  int64_t step = loop.getStep();
  for (int64_t ahead = 0; ahead + 1 < stages; ++ahead) {
    Value start = loop.getLower();
    if (ahead != 0)
      start = arith::AddIOp::create(builder, loc, start, constant(ahead * step));
    emitPrefetch(builder, loc, loop, *loads, loop.getBlockStart(), start, constant(ahead));
  }

  // The same loop, carrying the stage that holds the current block.
  SmallVector<Value> inits(loop.getInits());
  inits.push_back(constant(0));
  auto pipelined = KvLoopOp::create(builder, loc, ValueRange(inits).getTypes(), loop.getLower(),
                                    loop.getUpper(), loop.getFullLower(), loop.getFullUpper(),
                                    inits, loop.getStepAttr());
  pipelined.getBody().takeBody(loop.getBody());
  Block &body = pipelined.getBody().front();
  Value stage = body.addArgument(builder.getI32Type(), loc);

  builder.setInsertionPointToStart(&body);
  AsyncWaitOp::create(builder, loc, static_cast<uint32_t>(stages - 2));
  BarrierOp::create(builder, loc);
  // The block stages − 1 ahead goes where the previous block was: everyone has passed the barrier,
  // so nobody reads that any more.
  Value zero = constant(0), last = constant(stages - 1), one = constant(1);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stage, zero);
  Value before = arith::SubIOp::create(builder, loc, stage, one);
  Value target = arith::SelectOp::create(builder, loc, isFirst, last, before);
  Value ahead = arith::AddIOp::create(builder, loc, pipelined.getBlockStart(),
                                      constant((stages - 1) * step));
  emitPrefetch(builder, loc, pipelined, *loads, pipelined.getBlockStart(), ahead, target);

  for (StagedLoad &staged : *loads) {
    builder.setInsertionPoint(staged.load);
    auto buffer = cast<SharedType>(staged.buffer.getType());
    Value view = StageOp::create(builder, staged.load->getLoc(), stageType(buffer), staged.buffer,
                                 stage);
    auto product = cast<MmaOp>(*staged.load->getResult(0).getUsers().begin());
    product.getBMutable().assign(view);
  }
  for (StagedLoad &staged : *loads) {
    staged.load->erase();
    for (Operation *op : llvm::reverse(staged.slice))
      if (isOpTriviallyDead(op))
        op->erase();
  }

  Operation *yield = body.getTerminator();
  builder.setInsertionPoint(yield);
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stage, last);
  Value next = arith::AddIOp::create(builder, loc, stage, one);
  Value nextStage = arith::SelectOp::create(builder, loc, isLast, zero, next);
  yield->insertOperands(yield->getNumOperands(), nextStage);

  loop.replaceAllUsesWith(pipelined.getResults().drop_back());
  loop.erase();
  return success();
}

/// Moves the A operand of a loop's product (Q) to shared memory: copied once, before the loop's
/// own copies, so that the loop's first wait covers it.
static void shareInvariantOperand(KvLoopOp loop) {
  for (MmaOp product : loop.getBody().front().getOps<MmaOp>()) {
    Operation *load = loadBehind(product.getA());
    if (!load || loop->isProperAncestor(load))
      continue;
    OpBuilder builder(load);
    auto buffer = stagedBufferType(cast<RankedTensorType>(load->getResult(0).getType()), 1);
    Value storage = AllocSharedOp::create(builder, load->getLoc(), buffer);
    Value zero = arith::ConstantIntOp::create(builder, load->getLoc(), builder.getI32Type(), 0);
    Value view = StageOp::create(builder, load->getLoc(), stageType(buffer), storage, zero);
    // No address of this load varies in the loop: nothing is cloned.
    emitCopy(builder, load, {}, Value(), Value(), view);
    product.getAMutable().assign(view);
    load->erase();
  }
}

namespace {
struct PipelineLoads : tile::impl::TilePipelineLoadsBase<PipelineLoads> {
  using TilePipelineLoadsBase::TilePipelineLoadsBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    int64_t count = stages;
    bool sharedQ = false;
    if (auto schedule = kernel->getAttrOfType<DictionaryAttr>(kScheduleAttrName)) {
      if (auto attr = schedule.getAs<IntegerAttr>("stages"))
        count = attr.getInt();
      sharedQ = schedule.contains("q_in_shared");
    }
    if (count < 2) {
      kernel.emitError("a pipeline has at least 2 stages, got ") << count;
      return signalPassFailure();
    }
    SmallVector<KvLoopOp> loops;
    kernel.walk([&](KvLoopOp loop) { loops.push_back(loop); });
    for (KvLoopOp loop : loops) {
      if (sharedQ)
        shareInvariantOperand(loop);
      if (failed(pipelineLoop(loop, count)))
        return signalPassFailure();
    }
  }
};
} // namespace
