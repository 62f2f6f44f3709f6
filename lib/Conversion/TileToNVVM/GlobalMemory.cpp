// Loads, stores, gathers and scatters between global memory and registers.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

namespace {

/// Runs of registers that are neighbours in memory: `width` consecutive registers, all of one row,
/// starting at `reg` and at column `column` past the thread's base column.
struct Run {
  int64_t reg, column;
};

/// How a thread walks a [rows, cols] tile in memory order.
struct RowWalk {
  RowWalk(const Layout &layout, int64_t memoryColumns) : layout(layout) {
    width = 1;
    if (!layout.reg.empty() && layout.reg.front().step == SmallVector<int64_t, 2>{0, 1})
      width = llvm::bit_floor(static_cast<uint64_t>(layout.reg.front().extent));
    rowOf = layout.regsOfSlice(1);
    runs.resize(layout.slice(1).numRegs());
    rowOffset.resize(runs.size());
    for (int64_t r = 0; r < layout.numRegs(); r += width) {
      SmallVector<int64_t, 2> coord = layout.regCoord(r);
      rowOffset[rowOf[r]] = coord[0];
      runs[rowOf[r]].push_back({r, coord[1]});
    }
    // The farthest column that lanes and warps add: decides which runs lie wholly inside the row.
    for (const auto *modes : {&layout.lane, &layout.warp})
      for (const Mode &mode : *modes)
        threadColumns += (mode.extent - 1) * mode.step[1];
    columns = memoryColumns;
  }

  /// Whether the run is inside the row for every thread, or outside for every thread.
  bool alwaysInside(const Run &run) const {
    return run.column + threadColumns + width <= columns;
  }
  bool alwaysOutside(const Run &run) const { return run.column >= columns; }

  const Layout &layout;
  int64_t width, columns, threadColumns = 0;
  SmallVector<int64_t> rowOf, rowOffset;
  SmallVector<SmallVector<Run>> runs;
};

/// Executes `body` where `condition` holds (always if null) and returns its values, else zeros.
static SmallVector<Value> guarded(ThreadBuilder &tb, Value condition, TypeRange types,
                                  function_ref<SmallVector<Value>()> body) {
  if (!condition)
    return body();
  OpBuilder &b = tb.builder;
  auto branch = scf::IfOp::create(b, tb.loc, types, condition, /*withElse=*/!types.empty());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> values = body();
  if (types.empty())
    return {};
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, tb.loc, values);
  b.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(arith::ConstantOp::create(b, tb.loc, b.getZeroAttr(type)));
  scf::YieldOp::create(b, tb.loc, zeros);
  return SmallVector<Value>(branch.getResults());
}

/// Loads `width` elements at `pointer` with one access.
static SmallVector<Value> loadRun(ThreadBuilder &tb, Value pointer, Type type, int64_t width) {
  OpBuilder &b = tb.builder;
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  if (width == 1)
    return {LLVM::LoadOp::create(b, tb.loc, type, pointer, bytes)};
  Value vector = LLVM::LoadOp::create(b, tb.loc, VectorType::get({width}, type), pointer,
                                      bytes * width);
  SmallVector<Value> values;
  for (int64_t i = 0; i < width; ++i)
    values.push_back(LLVM::ExtractElementOp::create(b, tb.loc, vector, tb.i32(i)));
  return values;
}

static void storeRun(ThreadBuilder &tb, Value pointer, ValueRange values) {
  OpBuilder &b = tb.builder;
  Type type = values.front().getType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8, width = values.size();
  if (width == 1) {
    LLVM::StoreOp::create(b, tb.loc, values.front(), pointer, bytes);
    return;
  }
  Value vector = LLVM::PoisonOp::create(b, tb.loc, VectorType::get({width}, type));
  for (auto [i, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(b, tb.loc, vector, value, tb.i32(i));
  LLVM::StoreOp::create(b, tb.loc, vector, pointer, bytes * width);
}

/// Where row `row` (an index of the row slice) starts, and whether it exists (null: always).
using RowPlace = llvm::function_ref<std::pair<Value, Value>(int64_t row)>;

static Value columnGuard(ThreadBuilder &tb, const RowWalk &walk, const Run &run, Value baseColumn) {
  if (walk.alwaysInside(run))
    return {};
  return tb.less(tb.add(baseColumn, run.column), tb.i32(walk.columns));
}

static SmallVector<Value> loadRows(ThreadBuilder &tb, RankedTensorType type, int64_t columns,
                                   RowPlace place) {
  Layout layout = layoutOf(type);
  RowWalk walk(layout, columns);
  Type element = type.getElementType();
  Value baseColumn = tb.base(layout, 1);
  SmallVector<Value> results(layout.numRegs());
  for (auto [row, runs] : llvm::enumerate(walk.runs)) {
    auto [pointer, exists] = place(row);
    Value start = movePointer(tb, pointer, element, baseColumn);
    SmallVector<Type> types(runs.size() * walk.width, element);
    SmallVector<Value> values = guarded(tb, exists, types, [&] {
      SmallVector<Value> loaded;
      for (const Run &run : runs) {
        SmallVector<Type> runTypes(walk.width, element);
        if (walk.alwaysOutside(run)) {
          Value zero = arith::ConstantOp::create(tb.builder, tb.loc, tb.builder.getZeroAttr(element));
          loaded.append(walk.width, zero);
          continue;
        }
        llvm::append_range(loaded, guarded(tb, columnGuard(tb, walk, run, baseColumn), runTypes, [&] {
          return loadRun(tb, movePointer(tb, start, element, run.column), element, walk.width);
        }));
      }
      return loaded;
    });
    for (auto [index, run] : llvm::enumerate(runs))
      for (int64_t i = 0; i < walk.width; ++i)
        results[run.reg + i] = values[index * walk.width + i];
  }
  return results;
}

static void storeRows(ThreadBuilder &tb, RankedTensorType type, ValueRange values, int64_t columns,
                      RowPlace place) {
  Layout layout = layoutOf(type);
  RowWalk walk(layout, columns);
  Type element = type.getElementType();
  Value baseColumn = tb.base(layout, 1);
  for (auto [row, runs] : llvm::enumerate(walk.runs)) {
    auto [pointer, exists] = place(row);
    Value start = movePointer(tb, pointer, element, baseColumn);
    guarded(tb, exists, {}, [&]() -> SmallVector<Value> {
      for (const Run &run : runs) {
        if (walk.alwaysOutside(run))
          continue;
        guarded(tb, columnGuard(tb, walk, run, baseColumn), {}, [&]() -> SmallVector<Value> {
          storeRun(tb, movePointer(tb, start, element, run.column),
                   values.slice(run.reg, walk.width));
          return {};
        });
      }
      return {};
    });
  }
}

/// Places the rows of a block: first row `row0` (the last index), none at or past `limit`.
struct BlockRows {
  BlockRows(ThreadBuilder &tb, const GlobalView &view, ArrayRef<Value> indices, Value limit,
            const Layout &layout)
      : tb(tb), view(view), row0(indices.back()), limit(limit), layout(layout) {
    block = view.address(tb, indices);
    baseRow = tb.base(layout, 0);
    firstReg.resize(layout.slice(1).numRegs());
    for (auto [r, row] : llvm::enumerate(layout.regsOfSlice(1)))
      firstReg[row] = layout.regCoord(r)[0];
  }
  std::pair<Value, Value> operator()(int64_t row) const {
    Value inTile = tb.add(baseRow, firstReg[row]);
    Value exists = tb.less(tb.add(row0, inTile), limit);
    return {view.move(tb, block, inTile, view.strides.size() - 2), exists};
  }
  ThreadBuilder &tb;
  const GlobalView &view;
  Value row0, limit, block, baseRow;
  const Layout &layout;
  SmallVector<int64_t> firstReg;
};

static SmallVector<Value> firsts(ArrayRef<ValueRange> ranges) {
  return llvm::map_to_vector(ranges, [](ValueRange range) { return Value(range.front()); });
}

struct LoadPattern : OpConversionPattern<LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    auto memref = cast<MemRefType>(op.getSource().getType());
    GlobalView view(tb, memref, adaptor.getSource());
    Layout layout = layoutOf(cast<RankedTensorType>(op.getResult().getType()));
    BlockRows rows(tb, view, firsts(adaptor.getIndices()), adaptor.getLimit().front(), layout);
    rewriter.replaceOpWithMultiple(
        op, {loadRows(tb, cast<RankedTensorType>(op.getResult().getType()), memref.getShape().back(),
                      rows)});
    return success();
  }
};

struct StorePattern : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    auto memref = cast<MemRefType>(op.getTarget().getType());
    auto type = cast<RankedTensorType>(op.getValue().getType());
    GlobalView view(tb, memref, adaptor.getTarget());
    Layout layout = layoutOf(type);
    BlockRows rows(tb, view, firsts(adaptor.getIndices()), adaptor.getLimit().front(), layout);
    storeRows(tb, type, adaptor.getValue(), memref.getShape().back(), rows);
    rewriter.eraseOp(op);
    return success();
  }
};

/// The index operands at register `reg` of their tiles (scalars stay).
static SmallVector<Value> indicesAt(ArrayRef<ValueRange> converted, OperandRange original,
                                    int64_t reg) {
  SmallVector<Value> result;
  for (auto [range, value] : llvm::zip(converted, original))
    result.push_back(isPlacedTile(value.getType()) ? range[reg] : range.front());
  return result;
}

/// Whether an access is by rows (one index fewer than dimensions).
template <typename OpT> static bool isRowForm(OpT op, Value memory) {
  return static_cast<int64_t>(op.getIndices().size()) + 1 ==
         cast<MemRefType>(memory.getType()).getRank();
}

/// Whether one thread of those that hold copies of an element should write it: the replicas'
/// digits are all zero. Null when no element has copies.
static Value isOwner(ThreadBuilder &tb, const Layout &layout) {
  Value owner;
  auto require = [&](ArrayRef<Mode> modes, Value counter) {
    int64_t weight = 1;
    for (const Mode &mode : modes) {
      if (mode.isReplica() && mode.extent > 1) {
        Value digit = arith::RemUIOp::create(
            tb.builder, tb.loc,
            arith::DivUIOp::create(tb.builder, tb.loc, counter, tb.i32(weight)),
            tb.i32(mode.extent));
        Value first = arith::CmpIOp::create(tb.builder, tb.loc, arith::CmpIPredicate::eq, digit,
                                            tb.i32(0));
        owner = owner ? arith::AndIOp::create(tb.builder, tb.loc, owner, first).getResult() : first;
      }
      weight *= mode.extent;
    }
  };
  require(layout.lane, tb.lane());
  require(layout.warp, tb.warp());
  return owner;
}

struct GatherPattern : OpConversionPattern<GatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(GatherOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    auto memref = cast<MemRefType>(op.getSource().getType());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    GlobalView view(tb, memref, adaptor.getSource());
    ValueRange where = adaptor.getWhere();
    auto place = [&](int64_t reg) -> std::pair<Value, Value> {
      SmallVector<Value> indices = indicesAt(adaptor.getIndices(), op.getIndices(), reg);
      return {view.address(tb, indices), where.empty() ? Value() : Value(where[reg])};
    };
    if (isRowForm(op, op.getSource())) {
      rewriter.replaceOpWithMultiple(op, {loadRows(tb, type, memref.getShape().back(), place)});
      return success();
    }
    SmallVector<Value> results;
    for (int64_t r = 0, e = layoutOf(type).numRegs(); r < e; ++r) {
      auto [pointer, exists] = place(r);
      llvm::append_range(results, guarded(tb, exists, {type.getElementType()}, [&] {
        return loadRun(tb, pointer, type.getElementType(), 1);
      }));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ScatterPattern : OpConversionPattern<ScatterOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ScatterOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    auto memref = cast<MemRefType>(op.getTarget().getType());
    auto type = cast<RankedTensorType>(op.getValue().getType());
    GlobalView view(tb, memref, adaptor.getTarget());
    ValueRange where = adaptor.getWhere();
    Value owner = isOwner(tb, layoutOf(type));
    auto place = [&](int64_t reg) -> std::pair<Value, Value> {
      SmallVector<Value> indices = indicesAt(adaptor.getIndices(), op.getIndices(), reg);
      Value exists = where.empty() ? Value() : Value(where[reg]);
      if (exists && owner)
        exists = arith::AndIOp::create(rewriter, op.getLoc(), exists, owner);
      return {view.address(tb, indices), exists ? exists : owner};
    };
    if (isRowForm(op, op.getTarget())) {
      storeRows(tb, type, adaptor.getValue(), memref.getShape().back(), place);
    } else {
      for (auto [r, value] : llvm::enumerate(adaptor.getValue())) {
        auto [pointer, exists] = place(r);
        guarded(tb, exists, {}, [&, stored = Value(value)]() -> SmallVector<Value> {
          storeRun(tb, pointer, stored);
          return {};
        });
      }
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Scalar reads (a sequence's length, a slope).
struct ScalarLoadPattern : OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    GlobalView view(tb, op.getMemRefType(), adaptor.getMemref());
    Value pointer = view.base;
    for (auto [dim, range] : llvm::enumerate(adaptor.getIndices())) {
      Value wide = arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getI64Type(),
                                              range.front());
      Value elements = arith::MulIOp::create(rewriter, op.getLoc(), wide, view.strides[dim]);
      pointer = movePointer(tb, pointer, op.getMemRefType().getElementType(), elements);
    }
    rewriter.replaceOp(op, loadRun(tb, pointer, op.getType(), 1));
    return success();
  }
};

} // namespace

void attnc::populateGlobalMemoryPatterns(const ThreadTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<LoadPattern, StorePattern, GatherPattern, ScatterPattern, ScalarLoadPattern>(
      converter, patterns.getContext());
}
