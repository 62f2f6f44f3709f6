// Which part of the problem a CTA computes: sequence, head, rows and keys.
#include "AttnToTile.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace attnc;

/// Tiles in the order of their work, the last row blocks of all heads first, within sections of heads
/// that share the L2 cache: row block and batch·head of tile `pid`.
static std::pair<Value, Value> heaviestFirst(TileBuilder &b, AttentionProblem &problem, Value pid,
                                             Value numBlocks, Value numHeads,
                                             int64_t sectionBytes) {
  auto kv = cast<RankedTensorType>(problem.op.getK().getType());
  int64_t keyBytes = (problem.op.getDimQK() + problem.op.getDimV()) *
                     kv.getElementTypeBitWidth() / 8;
  // Heads of a section: KV heads that fit, times the query heads that share each.
  Value one = b.i32(1);
  Value fit = b.max(b.div(b.i32(sectionBytes / keyBytes), b.max(problem.maxLenKv, one)), one);
  Value perSection = problem.packed ? fit : b.mul(fit, b.i32(problem.group));
  // Few heads have few tiles: CTAs that take every n-th would get the heavy ones again and again.
  constexpr int64_t kLeastHeads = 4;
  perSection = b.min(b.max(perSection, b.i32(kLeastHeads)), numHeads);
  Value tiles = b.mul(perSection, numBlocks);
  Value section = b.div(pid, tiles);
  Value inSection = b.rem(pid, tiles);
  Value firstHead = b.mul(section, perSection);
  Value headsHere = b.min(perSection, b.sub(numHeads, firstHead));
  Value block = b.sub(b.sub(numBlocks, one), b.div(inSection, headsHere));
  return {block, b.add(firstHead, b.rem(inSection, headsHere))};
}

WorkItem attnc::decodeWork(TileBuilder &b, AttentionProblem &problem, bool descending) {
  WorkItem work;
  Value zero = b.i32(0);
  Value group = b.i32(problem.group);
  Value pid = tile::ProgramIdOp::create(b, b.getI32Type());
  if (problem.splits) {
    work.split = b.rem(pid, problem.splits);
    pid = b.div(pid, problem.splits);
  }
  Value maxRows = problem.packed ? b.mul(problem.maxLenQ, group) : problem.maxLenQ;
  Value numBlocks = b.ceilDiv(maxRows, problem.blockM);
  Value heads = b.i32(problem.packed ? problem.op.getHeadsKv() : problem.op.getHeadsQ());
  int64_t sectionBytes = problem.op.getConfigAttr().getSectionBytes();
  Value block, batchHead;
  if (descending && sectionBytes) {
    std::tie(block, batchHead) =
        heaviestFirst(b, problem, pid, numBlocks, b.mul(problem.batch, heads), sectionBytes);
  } else {
    // Row blocks are fastest, then heads: CTAs in flight share the K and V of few heads.
    block = b.rem(pid, numBlocks);
    batchHead = b.div(pid, numBlocks);
    if (descending)
      block = b.sub(b.sub(numBlocks, b.i32(1)), block);
  }
  Value head = b.rem(batchHead, heads);
  work.batch = b.div(batchHead, heads);
  work.firstRow = b.mul(block, b.i32(problem.blockM));
  if (problem.packed) {
    work.headKv = head;
  } else {
    work.head = head;
    work.headKv = b.div(head, group);
  }

  work.tensorBatch = work.batch;
  work.lenQ = problem.maxLenQ;
  work.lenKv = problem.maxLenKv;
  work.offsetQ = work.offsetKv = zero;
  if (problem.cuSeqlensQ) {
    work.tensorBatch = zero;
    Value next = b.add(work.batch, b.i32(1));
    work.offsetQ = b.loadScalar(problem.cuSeqlensQ, work.batch);
    work.lenQ = b.sub(b.loadScalar(problem.cuSeqlensQ, next), work.offsetQ);
    work.offsetKv = b.loadScalar(problem.cuSeqlensKv, work.batch);
    work.lenKv = b.sub(b.loadScalar(problem.cuSeqlensKv, next), work.offsetKv);
  }
  if (problem.kvLens) {
    // A length beyond the tensor must not make the kernel read past it.
    Value length = b.loadScalar(problem.kvLens, work.batch);
    if (!problem.blockTable)
      length = b.min(length, problem.maxLenKv);
    work.lenKv = b.max(length, zero);
  }
  work.numRows = problem.packed ? b.mul(work.lenQ, group) : work.lenQ;
  return work;
}

RowPositions attnc::rowPositions(TileBuilder &b, AttentionProblem &problem, const WorkItem &work) {
  int64_t rows = problem.blockM;
  RowPositions positions;
  Value row = b.range(work.firstRow, rows);
  positions.exists = b.less(row, b.splat(work.numRows, rows));
  if (problem.packed) {
    Value group = b.splat(b.i32(problem.group), rows);
    positions.query = b.div(row, group);
    Value firstHead = b.mul(work.headKv, b.i32(problem.group));
    positions.head = {b.add(b.splat(firstHead, rows), b.rem(row, group)), kRows};
  } else {
    positions.query = row;
    positions.head = {work.head, kUniform};
  }
  positions.tensorQuery = b.add(positions.query, b.splat(work.offsetQ, rows));
  return positions;
}

/// Bounds for one query head.
static FailureOr<KeyRange> boundsOfHead(TileBuilder &b, AttentionProblem &problem,
                                        const WorkItem &work, const InlineScope &scope, Value head,
                                        Value firstQuery, Value lastQuery) {
  RegionInliner inliner(scope, b, b);
  Varying arguments[] = {{work.batch},
                         {head},
                         {firstQuery, kUniform, /*positional=*/true},
                         {lastQuery, kUniform, /*positional=*/true},
                         {work.lenQ, kUniform, /*positional=*/true},
                         {work.lenKv, kUniform, /*positional=*/true}};
  auto yielded = inliner.inlineRegion(problem.op.getBounds(), arguments);
  if (failed(yielded))
    return failure();
  return KeyRange{(*yielded)[0].value, (*yielded)[1].value, (*yielded)[2].value,
                  (*yielded)[3].value};
}

FailureOr<KeyRange> attnc::keyRange(TileBuilder &b, AttentionProblem &problem, const WorkItem &work,
                                    InlineScope scope) {
  int64_t keys = problem.blockN;
  Value group = b.i32(problem.group);
  Value lastRow = b.add(work.firstRow, b.i32(problem.blockM - 1));
  Value firstQuery = work.firstRow, lastQuery = lastRow;
  if (problem.packed) {
    firstQuery = b.div(firstQuery, group);
    lastQuery = b.div(lastQuery, group);
  }
  lastQuery = b.min(lastQuery, b.sub(work.lenQ, b.i32(1)));

  // A packed tile holds all heads of the group; bounds that differ between them are united.
  bool headsDiffer = problem.packed && !problem.op.getBounds().getArgument(1).use_empty();
  Value firstHead = problem.packed ? b.mul(work.headKv, group) : work.head;
  auto range = boundsOfHead(b, problem, work, scope, firstHead, firstQuery, lastQuery);
  for (int64_t i = 1; headsDiffer && i < problem.group && succeeded(range); ++i) {
    auto other =
        boundsOfHead(b, problem, work, scope, b.add(firstHead, b.i32(i)), firstQuery, lastQuery);
    if (failed(other))
      return failure();
    range = KeyRange{b.min(range->lower, other->lower), b.max(range->fullLower, other->fullLower),
                     b.min(range->fullUpper, other->fullUpper), b.max(range->upper, other->upper)};
  }
  if (failed(range))
    return failure();

  range->lower = b.roundDown(range->lower, keys);
  if (work.split) {
    bool fullFromStart =
        isConstantIntValue(range->lower, 0) && isConstantIntValue(range->fullLower, 0);
    bool fullToEnd = range->upper == range->fullUpper;
    // Split s takes the s-th run of ⌈blocks / splits⌉ whole blocks.
    Value length = b.max(b.sub(range->upper, range->lower), b.i32(0));
    Value blocks = b.ceilDiv(length, keys);
    Value perSplit = b.div(b.add(blocks, b.sub(problem.splits, b.i32(1))), problem.splits);
    Value keysPerSplit = b.mul(perSplit, b.i32(keys));
    range->lower = b.add(range->lower, b.mul(work.split, keysPerSplit));
    range->upper = b.min(range->upper, b.add(range->lower, keysPerSplit));
    // Equal ends stay equal, so that tile-split-kv-range sees that no block is partial there.
    if (fullFromStart)
      range->fullLower = range->lower;
    if (fullToEnd)
      range->fullUpper = range->upper;
  }
  return range;
}
