// tile-specialize-warps: a producer role copies, a consumer role computes.
#include "attnc/Dialect/Tile/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESPECIALIZEWARPS
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A load that becomes a bulk copy: its map, its buffer, and the barriers that guard each stage.
struct Channel {
  LoadOp load;
  Value map, buffer, full, empty;
};

/// The one kv_loop of a kernel and what feeds its two products.
struct Anatomy {
  KvLoopOp loop;
  MmaOp scores, output;
  LoadOp q, k, v;

  static FailureOr<Anatomy> find(KernelOp kernel);
};

class Specializer {
public:
  Specializer(KernelOp kernel, const Anatomy &parts, int64_t stages)
      : kernel(kernel), parts(parts), stages(stages),
        b(kernel.getLoc(), kernel.getContext()) {}

  LogicalResult run();

private:
  Value i32(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); }

  LogicalResult threadCounters();
  Channel makeChannel(LoadOp load, StringRef name, int64_t numStages, int64_t consumerWarps);
  void makeProducer(Block &role, ArrayRef<Operation *> body);
  void makeConsumer();

  /// stage and parity of use number `count` of a channel with that many stages.
  std::pair<Value, Value> phaseOf(Value count, int64_t numStages);
  void waitFull(const Channel &channel, Value count, int64_t numStages);
  void release(const Channel &channel, Value count, int64_t numStages);
  void copy(const Channel &channel, LoadOp load, Value count, int64_t numStages);
  Value view(const Channel &channel, Value count, int64_t numStages);

  KernelOp kernel;
  Anatomy parts;
  int64_t stages;
  ImplicitLocOpBuilder b;
  Channel q, k, v;
  /// Counters at the loop's entry: tiles so far and KV blocks so far.
  Value tileCount;
};

} // namespace

FailureOr<Anatomy> Anatomy::find(KernelOp kernel) {
  Anatomy parts;
  int64_t loops = 0;
  kernel.walk([&](KvLoopOp loop) {
    parts.loop = loop;
    ++loops;
  });
  if (loops != 1)
    return kernel.emitError("warp specialisation takes a kernel with one kv_loop, got ") << loops;
  for (MmaOp product : parts.loop.getBody().front().getOps<MmaOp>())
    (product.getTransposeB() ? parts.scores : parts.output) = product;
  if (!parts.scores || !parts.output)
    return parts.loop.emitError("warp specialisation takes a loop with the products Q·Kᵀ and P·V");
  parts.q = parts.scores.getA().getDefiningOp<LoadOp>();
  parts.k = parts.scores.getB().getDefiningOp<LoadOp>();
  parts.v = parts.output.getB().getDefiningOp<LoadOp>();
  for (LoadOp load : {parts.q, parts.k, parts.v})
    if (!load || !load.getResult().hasOneUse())
      return parts.loop.emitError("warp specialisation takes products whose operands are plain "
                                  "loads; gathers (paged or packed rows) need another schedule");
  return parts;
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

/// Makes the loops and branches from the kernel's body down to the kv_loop carry two counters: tiles
/// begun and KV blocks consumed. Afterwards the kv_loop's last carried value is the block count.
LogicalResult Specializer::threadCounters() {
  // From the inside out: each level takes the counters' values as placeholders from the next.
  KvLoopOp loop = parts.loop;
  b.setInsertionPoint(loop);
  auto placeholder = [&]() -> Value {
    return UnrealizedConversionCastOp::create(b, b.getI32Type(), ValueRange()).getResult(0);
  };
  Value tilesIn = placeholder(), blocksIn = placeholder();
  tileCount = tilesIn;

  SmallVector<Value> inits(loop.getInits());
  inits.push_back(blocksIn);
  auto counted = KvLoopOp::create(b, ValueRange(inits).getTypes(), loop.getLower(), loop.getUpper(),
                                  loop.getFullLower(), loop.getFullUpper(), inits,
                                  loop.getStepAttr());
  counted.getBody().takeBody(loop.getBody());
  Block &body = counted.getBody().front();
  Value count = body.addArgument(b.getI32Type(), loop.getLoc());
  Operation *yield = body.getTerminator();
  b.setInsertionPoint(yield);
  Value next = arith::AddIOp::create(b, count, i32(1));
  yield->insertOperands(yield->getNumOperands(), next);
  loop.replaceAllUsesWith(counted.getResults().drop_back());
  loop.erase();
  parts.loop = counted;
  b.setInsertionPointAfter(counted);
  Value tilesOut = arith::AddIOp::create(b, tilesIn, i32(1));
  Value blocksOut = counted.getResults().back();

  for (Operation *parent = counted->getParentOp(); parent != kernel; parent = parent->getParentOp()) {
    b.setInsertionPoint(parent);
    Value outerTiles = placeholder(), outerBlocks = placeholder();
    Operation *replacement = nullptr;
    if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      if (branch.getNumResults() != 0)
        return branch.emitError("a branch around the kv_loop that yields values is not supported");
      auto wider = scf::IfOp::create(b, TypeRange{b.getI32Type(), b.getI32Type()},
                                     branch.getCondition(), /*withElse=*/true);
      wider.getThenRegion().takeBody(branch.getThenRegion());
      wider.thenYield()->setOperands({tilesOut, blocksOut});
      b.setInsertionPointToEnd(wider.elseBlock());
      scf::YieldOp::create(b, ValueRange{outerTiles, outerBlocks});
      tilesIn.replaceAllUsesWith(outerTiles);
      blocksIn.replaceAllUsesWith(outerBlocks);
      replacement = wider;
    } else if (auto tiles = dyn_cast<scf::ForOp>(parent)) {
      if (tiles.getNumResults() != 0)
        return tiles.emitError("a loop around the kv_loop that carries values is not supported");
      auto wider = scf::ForOp::create(b, tiles.getLowerBound(), tiles.getUpperBound(),
                                      tiles.getStep(), ValueRange{outerTiles, outerBlocks});
      tiles.getInductionVar().replaceAllUsesWith(wider.getInductionVar());
      Operation *oldYield = tiles.getBody()->getTerminator();
      wider.getBody()->getOperations().splice(wider.getBody()->end(),
                                              tiles.getBody()->getOperations(),
                                              tiles.getBody()->begin(), Block::iterator(oldYield));
      b.setInsertionPointToEnd(wider.getBody());
      scf::YieldOp::create(b, ValueRange{tilesOut, blocksOut});
      tilesIn.replaceAllUsesWith(wider.getRegionIterArg(0));
      blocksIn.replaceAllUsesWith(wider.getRegionIterArg(1));
      replacement = wider;
    } else {
      return parent->emitError("the kv_loop is inside an op that warp specialisation does not know");
    }
    for (Value old : {tilesIn, blocksIn})
      if (old.getDefiningOp<UnrealizedConversionCastOp>())
        old.getDefiningOp()->erase();
    // The consumer needs the count by the name it has at the loop.
    if (tileCount == tilesIn)
      tileCount = isa<scf::ForOp>(replacement)
                      ? cast<scf::ForOp>(replacement).getRegionIterArg(0)
                      : outerTiles;
    tilesIn = outerTiles;
    blocksIn = outerBlocks;
    tilesOut = replacement->getResult(0);
    blocksOut = replacement->getResult(1);
    parent->erase();
    parent = replacement;
  }
  b.setInsertionPointToStart(&kernel.getBody().front());
  Value zero = i32(0);
  if (tileCount == tilesIn)
    tileCount = zero;
  for (Value outermost : {tilesIn, blocksIn}) {
    outermost.replaceAllUsesWith(zero);
    outermost.getDefiningOp()->erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

Channel Specializer::makeChannel(LoadOp load, StringRef name, int64_t numStages,
                                 int64_t consumerWarps) {
  auto tileType = cast<RankedTensorType>(load.getResult().getType());
  Type element = tileType.getElementType();
  int64_t rows = tileType.getDimSize(0), columns = tileType.getDimSize(1);
  int64_t panel = 1024 / element.getIntOrFloatBitWidth();
  auto mapType = TensorMapType::get(b.getContext(), {1, 1, rows, panel}, element);
  unsigned index = kernel.getNumArguments();
  auto attrs = b.getDictionaryAttr(
      b.getNamedAttr(KernelOp::getNameAttrName(), b.getStringAttr((name + ".map").str())));
  LogicalResult inserted = kernel.insertArgument(index, mapType, attrs, load.getLoc());
  assert(succeeded(inserted) && "appending an argument");
  (void)inserted;

  Channel channel;
  channel.load = load;
  channel.map = kernel.getArgument(index);
  auto buffer = SharedType::get(b.getContext(), {numStages, rows, columns}, element, columns, 128);
  channel.buffer = AllocSharedOp::create(b, buffer);
  auto barriers = BarriersType::get(b.getContext(), numStages);
  channel.full = MbarrierAllocOp::create(b, barriers, /*arrivals=*/1);
  channel.empty = MbarrierAllocOp::create(b, barriers, static_cast<uint32_t>(consumerWarps));
  return channel;
}

std::pair<Value, Value> Specializer::phaseOf(Value count, int64_t numStages) {
  if (numStages == 1)
    return {i32(0), arith::AndIOp::create(b, count, i32(1))};
  Value stage = arith::RemUIOp::create(b, count, i32(numStages));
  Value round = arith::DivUIOp::create(b, count, i32(numStages));
  return {stage, arith::AndIOp::create(b, round, i32(1))};
}

Value Specializer::view(const Channel &channel, Value count, int64_t numStages) {
  auto buffer = cast<SharedType>(channel.buffer.getType());
  auto stage = SharedType::get(b.getContext(), buffer.getShape().drop_front(),
                               buffer.getElementType(), buffer.getPitch(), buffer.getSwizzle());
  return StageOp::create(b, stage, channel.buffer, phaseOf(count, numStages).first);
}

void Specializer::waitFull(const Channel &channel, Value count, int64_t numStages) {
  auto [stage, parity] = phaseOf(count, numStages);
  MbarrierWaitOp::create(b, channel.full, stage, parity);
}

void Specializer::release(const Channel &channel, Value count, int64_t numStages) {
  MbarrierArriveOp::create(b, channel.empty, phaseOf(count, numStages).first, IntegerAttr());
}

/// Producer: waits until the consumers have left the stage's previous content, then copies into it.
void Specializer::copy(const Channel &channel, LoadOp load, Value count, int64_t numStages) {
  auto [stage, parity] = phaseOf(count, numStages);
  // The first use of a stage finds the barrier in its initial phase: the odd parity has "passed".
  Value previous = arith::XOrIOp::create(b, parity, i32(1));
  MbarrierWaitOp::create(b, channel.empty, stage, previous);
  Value target = view(channel, count, numStages);
  int64_t bytes = cast<SharedType>(target.getType()).getSizeInBytes();
  MbarrierArriveOp::create(b, channel.full, stage, b.getI32IntegerAttr(bytes));
  TmaLoadOp::create(b, channel.map, load.getIndices(), target, channel.full, stage);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// The ops of a block that `roots` need, themselves included.
static llvm::SmallPtrSet<Operation *, 16> sliceInBlock(ArrayRef<Operation *> roots) {
  llvm::SmallPtrSet<Operation *, 16> slice;
  SmallVector<Operation *> worklist(roots);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!slice.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op->getBlock())
        worklist.push_back(producer);
  }
  return slice;
}

/// Erases what nothing uses inside `root`, users first.
static void eraseDead(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (op != root && isOpTriviallyDead(op))
      op->erase();
}

/// The producer runs a copy of the body in which only the loads matter.
void Specializer::makeProducer(Block &role, ArrayRef<Operation *> body) {
  b.setInsertionPointToStart(&role);
  Value elected = ElectOp::create(b, b.getI1Type());
  auto guard = scf::IfOp::create(b, elected, /*withElse=*/false);
  b.setInsertionPointToStart(guard.thenBlock());
  IRMapping map;
  for (Operation *op : body)
    b.clone(*op, map);
  auto loadOf = [&](LoadOp load) {
    return cast<LoadOp>(map.lookup(load.getResult()).getDefiningOp());
  };
  LoadOp qLoad = loadOf(parts.q);
  b.setInsertionPoint(qLoad);
  copy(q, qLoad, map.lookupOrDefault(tileCount), 1);

  auto loop = cast<KvLoopOp>(map.lookup(parts.loop.getResults().back()).getDefiningOp());
  LoadOp kLoad = loadOf(parts.k), vLoad = loadOf(parts.v);
  auto needed = sliceInBlock({kLoad, vLoad});
  b.setInsertionPoint(loop);
  auto plain = scf::ForOp::create(b, loop.getLower(), loop.getUpper(), i32(loop.getStep()),
                                  ValueRange{loop.getInits().back()});
  b.setInsertionPointToStart(plain.getBody());
  IRMapping inner;
  inner.map(loop.getBlockStart(), plain.getInductionVar());
  for (Operation &op : loop.getBody().front())
    if (needed.contains(&op))
      b.clone(op, inner);
  Value count = plain.getRegionIterArg(0);
  copy(k, cast<LoadOp>(inner.lookup(kLoad.getResult()).getDefiningOp()), count, stages);
  copy(v, cast<LoadOp>(inner.lookup(vLoad.getResult()).getDefiningOp()), count, stages);
  Value next = arith::AddIOp::create(b, count, i32(1));
  scf::YieldOp::create(b, next);
  loop.getResults().back().replaceAllUsesWith(plain.getResult(0));

  // Nobody stores in the producer; what only the stores needed dies with them.
  SmallVector<Operation *> stores;
  guard->walk([&](Operation *op) {
    if (isa<StoreOp, ScatterOp>(op))
      stores.push_back(op);
  });
  for (Operation *op : stores)
    op->erase();
  eraseDead(guard);
}

/// The consumer runs the body itself, its loads replaced by waits and views.
void Specializer::makeConsumer() {
  Value blocks = parts.loop.getCarried().back();
  b.setInsertionPoint(parts.loop);
  waitFull(q, tileCount, 1);
  Value qView = view(q, tileCount, 1);
  parts.scores.getAMutable().assign(qView);
  b.setInsertionPointAfter(parts.loop);
  release(q, tileCount, 1);

  b.setInsertionPoint(parts.scores);
  waitFull(k, blocks, stages);
  parts.scores.getBMutable().assign(view(k, blocks, stages));
  b.setInsertionPointAfter(parts.scores);
  release(k, blocks, stages);

  b.setInsertionPoint(parts.output);
  waitFull(v, blocks, stages);
  parts.output.getBMutable().assign(view(v, blocks, stages));
  b.setInsertionPointAfter(parts.output);
  release(v, blocks, stages);
  for (LoadOp load : {parts.q, parts.k, parts.v})
    load.erase();
}

LogicalResult Specializer::run() {
  if (failed(threadCounters()))
    return failure();
  Block &entry = kernel.getBody().front();
  Operation *terminator = entry.getTerminator();
  SmallVector<Operation *> body;
  for (Operation &op : entry.without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      body.push_back(&op);

  int64_t consumerWarps = kernel.getWarps();
  b.setInsertionPointToStart(&entry);
  q = makeChannel(parts.q, "q", 1, consumerWarps);
  k = makeChannel(parts.k, "k", stages, consumerWarps);
  v = makeChannel(parts.v, "v", stages, consumerWarps);
  BarrierOp::create(b);

  b.setInsertionPoint(terminator);
  // Registers: 24 and 240 a thread share out the 65,536 of an SM between 128 and 256 threads.
  constexpr int32_t kProducerWarps = 4, kProducerRegisters = 24, kConsumerRegisters = 240;
  auto roles = WarpRolesOp::create(
      b, b.getDenseI32ArrayAttr({kProducerWarps, static_cast<int32_t>(consumerWarps)}),
      b.getDenseI32ArrayAttr({kProducerRegisters, kConsumerRegisters}), /*rolesCount=*/2);
  Block &producer = roles.getRoles()[0].emplaceBlock();
  Block &consumer = roles.getRoles()[1].emplaceBlock();
  makeProducer(producer, body);
  makeConsumer();
  for (Operation *op : body)
    op->moveBefore(&consumer, consumer.end());
  kernel.setWarps(kProducerWarps + consumerWarps);
  return success();
}

namespace {
struct SpecializeWarps : tile::impl::TileSpecializeWarpsBase<SpecializeWarps> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = kernel->getAttrOfType<DictionaryAttr>(kScheduleAttrName);
    if (!schedule || !schedule.contains("warp_specialized"))
      return markAllAnalysesPreserved();
    FailureOr<Anatomy> parts = Anatomy::find(kernel);
    auto stages = schedule.getAs<IntegerAttr>("stages");
    if (failed(parts) ||
        failed(Specializer(kernel, *parts, stages ? stages.getInt() : 2).run()))
      signalPassFailure();
  }
};
} // namespace
