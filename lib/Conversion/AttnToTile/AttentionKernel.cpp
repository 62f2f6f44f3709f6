// The kernel of attn.prefill and attn.decode: signature, loop over blocks of keys, stores.
#include "AttnToTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attnc;

static LogicalResult checkReady(attn::AttentionOpInterface op) {
  if (op.getMasksAttr() || op.getScoresAttr())
    return op->emitError() << "has named masks or scores; run attn-resolve-variant first, which "
                              "turns them into regions";
  attn::ConfigAttr config = op.getConfigAttr();
  if (!config)
    return op->emitError() << "has no config; run attn-choose-config first, or set "
                              "config = #attn.config<…>";
  if (config.getBlockM() < 16 || config.getBlockM() % 16 || config.getBlockN() < 16 ||
      config.getBlockN() % 16 || config.getWarps() < 1 || config.getWarps() > 32)
    return op->emitError() << "config has blockM = " << config.getBlockM()
                           << ", blockN = " << config.getBlockN()
                           << ", warps = " << config.getWarps()
                           << "; blocks are positive multiples of 16 and warps 1 to 32";
  if (op.getBounds().empty())
    return op->emitError() << "has no bounds region; run attn-derive-kv-bounds first";
  return success();
}

/// Creates the kernel and fills in the problem's arguments.
static LogicalResult createKernel(func::FuncOp func, AttentionProblem &problem,
                                  tile::KernelOp &kernel) {
  attn::AttentionOpInterface op = problem.op;
  attn::ConfigAttr config = op.getConfigAttr();
  OpBuilder builder(func);
  Type i32 = builder.getI32Type();
  StringRef oName = "o_part", lseName = "lse_part";
  if (!op.isPartial()) {
    oName = returnedAs(func, op.getO());
    lseName = returnedAs(func, op.getLse());
    if (oName.empty())
      return op->emitError() << "the function does not return the output; the kernel would compute "
                                "nothing";
  }

  KernelSignature signature(func);
  for (Value value : {Value(op.getQ()), Value(op.getK()), Value(op.getV())})
    if (failed(signature.addArgument(value, /*rowMajor=*/true)))
      return failure();
  signature.add(oName, kernelMemRefType(cast<RankedTensorType>(op.getO().getType()), true));
  if (!lseName.empty())
    signature.add(lseName, kernelMemRefType(cast<RankedTensorType>(op.getLse().getType()), false));
  for (Value value :
       {op.getKvLens(), op.getCuSeqlensQ(), op.getCuSeqlensKv(), op.getBlockTable(), op.getSinks()})
    if (value && failed(signature.addArgument(value)))
      return failure();
  if (failed(signature.addCaptures({&op.getMask(), &op.getScore(), &op.getBounds()})))
    return failure();
  signature.add("batch", i32);
  signature.add("max_len_q", i32);
  signature.add("max_len_kv", i32);
  if (op.isPartial())
    signature.add("splits", i32);

  Attribute rows = symbol(builder, "max_len_q");
  if (problem.packed)
    rows = binary(builder, "mul", rows, number(builder, problem.group));
  Attribute heads =
      number(builder, problem.packed ? problem.op.getHeadsKv() : problem.op.getHeadsQ());
  Attribute grid = binary(builder, "mul", binary(builder, "mul", symbol(builder, "batch"), heads),
                          binary(builder, "ceildiv", rows, number(builder, problem.blockM)));
  if (op.isPartial())
    grid = binary(builder, "mul", grid, symbol(builder, "splits"));
  kernel = signature.create(func.getSymName(), config.getWarps(), "main", grid, problem.captures);

  SmallVector<NamedAttribute> schedule;
  schedule.push_back(builder.getNamedAttr("stages", number(builder, config.getStages())));
  if (!config.getQInRegisters())
    schedule.push_back(builder.getNamedAttr("q_in_shared", builder.getUnitAttr()));
  if (config.getCtasPerSm())
    schedule.push_back(
        builder.getNamedAttr("ctas_per_sm", number(builder, config.getCtasPerSm())));
  if (config.getWarpSpecialized())
    schedule.push_back(builder.getNamedAttr("warp_specialized", builder.getUnitAttr()));
  if (config.getPersistent())
    schedule.push_back(builder.getNamedAttr("persistent", builder.getUnitAttr()));
  kernel->setAttr(tile::kScheduleAttrName, builder.getDictionaryAttr(schedule));

  auto mapped = [&](Value value) { return value ? problem.captures.lookup(value) : Value(); };
  problem.q = mapped(op.getQ());
  problem.k = mapped(op.getK());
  problem.v = mapped(op.getV());
  problem.o = KernelSignature::find(kernel, oName);
  problem.lse = lseName.empty() ? Value() : KernelSignature::find(kernel, lseName);
  problem.kvLens = mapped(op.getKvLens());
  problem.cuSeqlensQ = mapped(op.getCuSeqlensQ());
  problem.cuSeqlensKv = mapped(op.getCuSeqlensKv());
  problem.blockTable = mapped(op.getBlockTable());
  problem.sinks = mapped(op.getSinks());
  problem.batch = KernelSignature::find(kernel, "batch");
  problem.maxLenQ = KernelSignature::find(kernel, "max_len_q");
  problem.maxLenKv = KernelSignature::find(kernel, "max_len_kv");
  problem.splits = KernelSignature::find(kernel, "splits");
  return success();
}

/// Whether later rows see more keys: the upper bound depends on the last query, the lower on none.
static bool boundsGrowWithQuery(Region &bounds) {
  auto dependsOnQuery = [&](Value root) {
    SmallVector<Value> worklist{root};
    llvm::DenseSet<Value> seen;
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (value == bounds.getArgument(2) || value == bounds.getArgument(3))
        return true;
      if (Operation *op = value.getDefiningOp(); op && bounds.isAncestor(op->getParentRegion()))
        llvm::append_range(worklist, op->getOperands());
    }
    return false;
  };
  OperandRange yielded = bounds.front().getTerminator()->getOperands();
  return dependsOnQuery(yielded[3]) && !dependsOnQuery(yielded[0]);
}

static RankedTensorType elementsOf(Value memref, TileBuilder &b, int64_t rows, int64_t columns) {
  return b.tileType({rows, columns}, cast<MemRefType>(memref.getType()).getElementType());
}

static Value loadQ(TileBuilder &b, AttentionProblem &problem, const WorkItem &work,
                   const RowPositions &rows) {
  RankedTensorType type = elementsOf(problem.q, b, problem.blockM, problem.paddedDimQK());
  if (problem.packed)
    return tile::GatherOp::create(b, type, problem.q,
                                  ValueRange{work.tensorBatch, rows.head.value, rows.tensorQuery},
                                  rows.exists);
  Value first = b.add(work.offsetQ, work.firstRow);
  Value limit = b.add(work.offsetQ, work.lenQ);
  return tile::LoadOp::create(b, type, problem.q, ValueRange{work.tensorBatch, work.head, first},
                              limit);
}

/// Loads this block's rows of K and V. `key` are the key positions, `exists` whether they are below
/// the length.
static std::pair<Value, Value> loadKV(TileBuilder &b, AttentionProblem &problem,
                                      const WorkItem &work, Value blockStart, Value key,
                                      Value exists) {
  int64_t keys = problem.blockN;
  RankedTensorType kType = elementsOf(problem.k, b, keys, problem.paddedDimQK());
  RankedTensorType vType = elementsOf(problem.v, b, keys, problem.paddedDimV());
  if (problem.blockTable) {
    Value pageSize = b.splat(b.i32(*problem.op.getPageSize()), keys);
    Value page = tile::GatherOp::create(b, b.tileType(keys, b.getI32Type()), problem.blockTable,
                                        ValueRange{work.batch, b.div(key, pageSize)}, exists);
    SmallVector<Value> indices{page, work.headKv, b.rem(key, pageSize)};
    Value k = tile::GatherOp::create(b, kType, problem.k, indices, exists);
    Value v = tile::GatherOp::create(b, vType, problem.v, indices, exists);
    return {k, v};
  }
  Value first = b.add(work.offsetKv, blockStart);
  Value limit = b.add(work.offsetKv, work.lenKv);
  SmallVector<Value> indices{work.tensorBatch, work.headKv, first};
  Value k = tile::LoadOp::create(b, kType, problem.k, indices, limit);
  Value v = tile::LoadOp::create(b, vType, problem.v, indices, limit);
  return {k, v};
}

/// Whether the score is what comes in: no region, or one that yields its first argument.
static bool isIdentityScore(Region &score) {
  return score.empty() || score.front().getTerminator()->getOperand(0) == score.getArgument(0);
}

static void storeResults(TileBuilder &b, AttentionProblem &problem, const WorkItem &work,
                         const RowPositions &rows, const RowResults &results) {
  SmallVector<Value> prefix;
  if (work.split)
    prefix.push_back(work.split);
  prefix.push_back(work.tensorBatch);
  auto outType = cast<MemRefType>(problem.o.getType()).getElementType();
  Value o = results.o;
  auto accType = cast<RankedTensorType>(o.getType());
  if (outType != accType.getElementType())
    o = arith::TruncFOp::create(b, accType.clone(outType), o);
  SmallVector<Value> indices = prefix;
  if (problem.packed) {
    indices.append({rows.head.value, rows.tensorQuery});
    tile::ScatterOp::create(b, o, problem.o, indices, rows.exists);
  } else {
    indices.append({work.head, b.add(work.offsetQ, work.firstRow)});
    tile::StoreOp::create(b, o, problem.o, indices, b.add(work.offsetQ, work.lenQ));
  }
  if (problem.lse) {
    indices = prefix;
    indices.append({rows.head.value, rows.tensorQuery});
    tile::ScatterOp::create(b, results.lse, problem.lse, indices, rows.exists);
  }
}

namespace {
/// One step of the loop over keys, and what it needs.
struct KeyStep {
  AttentionProblem &problem;
  const WorkItem &work;
  const RowPositions &rows;
  Value q;
  /// Builds before the loop.
  TileBuilder &outer;
  /// 2^x is taken of this times the scores.
  double exponentScale;
  Value hasKeys;

  LogicalResult build(tile::KvLoopOp loop);
};
} // namespace

LogicalResult KeyStep::build(tile::KvLoopOp loop) {
  attn::AttentionOpInterface op = problem.op;
  Block &body = loop.getBody().front();
  TileBuilder b(loop.getLoc(), &body, body.end());
  int64_t m = problem.blockM, n = problem.blockN;
  Value key = b.range(loop.getBlockStart(), n);
  Value keyExists = b.less(key, b.splat(work.lenKv, n));
  auto [k, v] = loadKV(b, problem, work, loop.getBlockStart(), key, keyExists);
  Value scores = tile::MmaOp::create(b, q, k, outer.dense(0.0, {m, n}), /*transpose_b=*/true);

  InlineScope scope{problem.captures, m, n, hasKeys, rows.exists, keyExists};
  Varying position[] = {{work.batch},
                        rows.head,
                        {rows.query, kRows, /*positional=*/true},
                        {key, kKeys, /*positional=*/true},
                        {work.lenQ, kUniform, /*positional=*/true},
                        {work.lenKv, kUniform, /*positional=*/true}};
  if (!isIdentityScore(op.getScore())) {
    scores = arith::MulFOp::create(b, scores, outer.dense(op.getScaleValue(), {m, n}));
    SmallVector<Varying> arguments{{scores, kBoth}};
    llvm::append_range(arguments, position);
    RegionInliner inliner(scope, outer, b);
    auto yielded = inliner.inlineRegion(op.getScore(), arguments);
    if (failed(yielded))
      return failure();
    scores = inliner.toTile(yielded->front(), kBoth);
  }

  auto mask = tile::MaskOp::create(b, scores);
  {
    TileBuilder maskBuilder(loop.getLoc(), b.getContext());
    maskBuilder.createBlock(&mask.getBody());
    RegionInliner inliner(scope, outer, maskBuilder);
    Value visible = inliner.toTile({keyExists, kKeys}, kBoth);
    if (!op.getMask().empty()) {
      auto yielded = inliner.inlineRegion(op.getMask(), position);
      if (failed(yielded))
        return failure();
      visible =
          maskBuilder.createOrFold<arith::AndIOp>(inliner.toTile(yielded->front(), kBoth), visible);
    }
    tile::YieldOp::create(maskBuilder, visible);
  }

  Value acc = loop.getCarried()[0];
  auto step = tile::SoftmaxStepOp::create(b, mask.getResult(), loop.getCarried()[1],
                                          loop.getCarried()[2], APFloat(float(exponentScale)));
  Value scaled = arith::MulFOp::create(
      b, acc, b.broadcast(step.getCorrection(), /*dim=*/1, problem.paddedDimV()));
  Value weights = step.getWeights();
  Type kvType = cast<RankedTensorType>(v.getType()).getElementType();
  if (!kvType.isF32())
    weights = arith::TruncFOp::create(b, b.tileType({m, n}, kvType), weights);
  Value next = tile::MmaOp::create(b, weights, v, scaled, /*transpose_b=*/false);
  tile::YieldOp::create(b, ValueRange{next, step.getNewMax(), step.getNewSum()});
  return success();
}

/// The sink logit of each row, or null.
static Varying loadSinks(TileBuilder &b, AttentionProblem &problem, const RowPositions &rows) {
  if (!problem.sinks)
    return {};
  if (rows.head.axes == kUniform)
    return {b.loadScalar(problem.sinks, rows.head.value)};
  Value logits = tile::GatherOp::create(b, b.tileType(problem.blockM, b.getF32Type()),
                                        problem.sinks, rows.head.value, rows.exists);
  return {logits, kRows};
}

/// The body of the kernel for a tile that has rows.
static LogicalResult buildTile(TileBuilder &b, AttentionProblem &problem, const WorkItem &work) {
  attn::AttentionOpInterface op = problem.op;
  int64_t m = problem.blockM;
  RowPositions rows = rowPositions(b, problem, work);
  Value hasKeys = b.less(b.i32(0), work.lenKv);
  InlineScope scope{problem.captures, m, problem.blockN, hasKeys, {}, {}};
  auto range = keyRange(b, problem, work, scope);
  if (failed(range))
    return failure();

  Value q = loadQ(b, problem, work, rows);
  Value inits[] = {b.dense(0.0, {m, problem.paddedDimV()}),
                   b.dense(-std::numeric_limits<double>::infinity(), m), b.dense(0.0, m)};
  auto loop = tile::KvLoopOp::create(b, TypeRange(ValueRange(inits)), range->lower, range->upper,
                                     range->fullLower, range->fullUpper, inits, problem.blockN);
  SmallVector<Type> argTypes{b.getI32Type()};
  llvm::append_range(argTypes, TypeRange(ValueRange(inits)));
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBody(), {}, argTypes,
                  SmallVector<Location>(argTypes.size(), b.getLoc()));
  }
  // With an identity score the scale is applied in the exponent.
  double exponentScale = llvm::numbers::log2e;
  if (isIdentityScore(op.getScore()))
    exponentScale *= op.getScaleValue();
  TileBuilder outer(b.getLoc(), loop);
  KeyStep step{problem, work, rows, q, outer, exponentScale, hasKeys};
  if (failed(step.build(loop)))
    return failure();

  SoftmaxState state{loop.getResult(0), loop.getResult(1), loop.getResult(2)};
  RowResults results = finishRows(b, state, exponentScale, loadSinks(b, problem, rows));
  storeResults(b, problem, work, rows, results);
  return success();
}

LogicalResult attnc::buildAttentionKernel(func::FuncOp func, attn::AttentionOpInterface op) {
  if (failed(checkReady(op)))
    return failure();
  AttentionProblem problem;
  problem.op = op;
  problem.blockM = op.getConfigAttr().getBlockM();
  problem.blockN = op.getConfigAttr().getBlockN();
  problem.group = op.getGroup();
  problem.packed = op.getConfigAttr().getPackGqa() && problem.group > 1;
  tile::KernelOp kernel;
  if (failed(createKernel(func, problem, kernel)))
    return failure();

  TileBuilder b(op.getLoc(), kernel.getBody().front().getTerminator());
  WorkItem work = decodeWork(b, problem, boundsGrowWithQuery(op.getBounds()));
  // The grid covers the longest sequence; CTAs past the end of a shorter one have nothing to do.
  auto hasRows = scf::IfOp::create(b, b.less(work.firstRow, work.numRows), /*withElse=*/false);
  TileBuilder inside(op.getLoc(), hasRows.thenBlock()->getTerminator());
  if (failed(buildTile(inside, problem, work)))
    return failure();
  eraseDeadOps(kernel.getBody());
  return success();
}
