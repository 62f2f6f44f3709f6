// Shared memory: allocation, asynchronous copies, stages, barriers, whole-tile reads and writes.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

namespace {

struct AllocSharedPattern : OpConversionPattern<AllocSharedOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AllocSharedOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(kSharedOffsetAttrName);
    if (!offset)
      return rewriter.notifyMatchFailure(op, "the buffer has not been placed");
    ThreadBuilder tb(rewriter, op.getLoc());
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext(), kSharedSpace);
    Value base = LLVM::AddressOfOp::create(rewriter, op.getLoc(), pointer, kSharedSymbol);
    rewriter.replaceOp(op, movePointer(tb, base, rewriter.getI8Type(), offset.getInt()));
    return success();
  }
};

struct StagePattern : OpConversionPattern<StageOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StageOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    SharedType type = op.getBuffer().getType();
    Value elements = tb.mul(adaptor.getStage().front(), type.getStageElements());
    rewriter.replaceOp(op, movePointer(tb, adaptor.getBuffer().front(), type.getElementType(),
                                       elements));
    return success();
  }
};

/// Walks the 16-byte chunks of a tile that a thread copies: rows by copyRowLayout, and in a row
/// every lanesPerRow-th chunk.
struct ChunkWalk {
  ChunkWalk(ThreadBuilder &tb, SharedType target, int64_t memoryColumns, int64_t warps)
      : target(target) {
    chunkElements = 128 / target.getElementType().getIntOrFloatBitWidth();
    chunksPerRow = target.getShape()[1] / chunkElements;
    memoryChunks = memoryColumns / chunkElements;
    rows = copyRowLayout(target.getShape()[0], chunksPerRow, warps);
    lanesPerRow = rows.lane.front().extent;
    laneInRow = arith::RemUIOp::create(tb.builder, tb.loc, tb.lane(), tb.i32(lanesPerRow));
  }

  /// Copies one row: `source` is its first element, `exists` whether it holds data (null: always),
  /// `row` its index in the tile.
  void copyRow(ThreadBuilder &tb, Value source, Value exists, Value row, Value targetBase) {
    OpBuilder &b = tb.builder;
    Type element = target.getElementType();
    Value laneOffset = tb.mul(laneInRow, chunkElements);
    Value from = movePointer(tb, source, element, laneOffset);
    Value to = movePointer(tb, targetBase, element,
                           tb.add(tb.mul(row, target.getPitch()), laneOffset));
    Value whole = tb.i32(16), none = tb.i32(0);
    for (int64_t chunk = 0; chunk < chunksPerRow; chunk += lanesPerRow) {
      Value size = exists ? arith::SelectOp::create(b, tb.loc, exists, whole, none).getResult()
                          : Value();
      // Columns past the tensor's are zero: decided per lane only where lanes differ.
      if (chunk >= memoryChunks) {
        size = none;
      } else if (chunk + lanesPerRow > memoryChunks) {
        Value inside = tb.less(tb.add(laneInRow, chunk), tb.i32(memoryChunks));
        size = arith::SelectOp::create(b, tb.loc, inside, size ? size : whole, none);
      }
      NVVM::CpAsyncOp::create(b, tb.loc, movePointer(tb, to, element, chunk * chunkElements),
                              movePointer(tb, from, element, chunk * chunkElements),
                              /*size=*/16, NVVM::LoadCacheModifierKind::CG, size);
    }
  }

  /// Whether some threads have rows past the tile in the last pass.
  bool overshoots() const { return rows.shape()[0] > target.getShape()[0]; }

  /// Runs `body` for register `reg`'s row unless it lies past the tile.
  void forRow(ThreadBuilder &tb, Value baseRow, int64_t reg, function_ref<void(Value)> body) {
    Value row = tb.add(baseRow, rows.regCoord(reg)[0]);
    if (!overshoots())
      return body(row);
    auto branch = scf::IfOp::create(tb.builder, tb.loc,
                                    tb.less(row, tb.i32(target.getShape()[0])), /*withElse=*/false);
    OpBuilder::InsertionGuard guard(tb.builder);
    tb.builder.setInsertionPointToStart(branch.thenBlock());
    body(row);
  }

  SharedType target;
  Layout rows;
  int64_t chunkElements, chunksPerRow, memoryChunks, lanesPerRow;
  Value laneInRow;
};

struct CopyAsyncPattern : OpConversionPattern<CopyAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyAsyncOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    auto memref = cast<MemRefType>(op.getSource().getType());
    GlobalView view(tb, memref, adaptor.getSource());
    SmallVector<Value> indices = llvm::map_to_vector(
        adaptor.getIndices(), [](ValueRange range) { return Value(range.front()); });
    ChunkWalk walk(tb, op.getTarget().getType(), memref.getShape().back(),
                   enclosingRole(op->getBlock()).warps);
    Value block = view.address(tb, indices);
    Value baseRow = tb.base(walk.rows, 0);
    Value target = adaptor.getTarget().front(), limit = adaptor.getLimit().front();
    // One pointer walks the rows: an address for each would be hoisted out of the loop and held.
    int64_t rowDim = view.strides.size() - 2;
    Value source = view.move(tb, block, baseRow, rowDim);
    int64_t rowsPerPass = walk.rows.numRegs() > 1 ? walk.rows.regCoord(1)[0] : 0;
    Value pass = arith::MulIOp::create(rewriter, op.getLoc(), view.strides[rowDim],
                                       tb.i64(rowsPerPass));
    for (int64_t r = 0, e = walk.rows.numRegs(); r < e; ++r) {
      walk.forRow(tb, baseRow, r, [&](Value row) {
        Value exists = tb.less(tb.add(indices.back(), row), limit);
        walk.copyRow(tb, source, exists, row, target);
      });
      source = movePointer(tb, source, memref.getElementType(), pass);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct GatherAsyncPattern : OpConversionPattern<GatherAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(GatherAsyncOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    auto memref = cast<MemRefType>(op.getSource().getType());
    GlobalView view(tb, memref, adaptor.getSource());
    ChunkWalk walk(tb, op.getTarget().getType(), memref.getShape().back(),
                   enclosingRole(op->getBlock()).warps);
    Value baseRow = tb.base(walk.rows, 0);
    ValueRange where = adaptor.getWhere();
    for (int64_t r = 0, e = walk.rows.numRegs(); r < e; ++r)
      walk.forRow(tb, baseRow, r, [&](Value row) {
        SmallVector<Value> indices;
        for (auto [range, original] : llvm::zip(adaptor.getIndices(), op.getIndices()))
          indices.push_back(isPlacedTile(original.getType()) ? range[r] : range.front());
        Value exists = where.empty() ? Value() : Value(where[r]);
        walk.copyRow(tb, view.address(tb, indices), exists, row, adaptor.getTarget().front());
      });
    rewriter.eraseOp(op);
    return success();
  }
};

struct CommitPattern : OpConversionPattern<AsyncCommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AsyncCommitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct WaitPattern : OpConversionPattern<AsyncWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AsyncWaitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

struct BarrierPattern : OpConversionPattern<tile::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::BarrierOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    WarpRole role = enclosingRole(op->getBlock());
    if (!role.index) {
      rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
      return success();
    }
    // Barrier 0 is the CTA's.
    ThreadBuilder tb(rewriter, op.getLoc());
    NVVM::BarrierOp::create(rewriter, op.getLoc(), TypeRange(), tb.i32(1 + *role.index),
                            tb.i32(role.warps * 32), NVVM::BarrierReductionAttr(), Value());
    rewriter.eraseOp(op);
    return success();
  }
};

/// The address in a stage of a tile's element at register `reg`.
static Value elementAddress(ThreadBuilder &tb, SharedType shared, Value start, const Layout &layout,
                            int64_t reg) {
  SmallVector<int64_t, 2> coord = layout.regCoord(reg);
  return movePointer(tb, start, shared.getElementType(), coord[0] * shared.getPitch() + coord[1]);
}

static Value threadStart(ThreadBuilder &tb, SharedType shared, Value base, const Layout &layout) {
  Value offset = tb.add(tb.mul(tb.base(layout, 0), shared.getPitch()), tb.base(layout, 1));
  return movePointer(tb, base, shared.getElementType(), offset);
}

struct SharedReadPattern : OpConversionPattern<SharedReadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SharedReadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    SharedType shared = op.getSource().getType();
    Layout layout = layoutOf(cast<RankedTensorType>(op.getResult().getType()));
    Value start = threadStart(tb, shared, adaptor.getSource().front(), layout);
    SmallVector<Value> results;
    for (int64_t r = 0, e = layout.numRegs(); r < e; ++r)
      results.push_back(LLVM::LoadOp::create(rewriter, op.getLoc(), shared.getElementType(),
                                             elementAddress(tb, shared, start, layout, r)));
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct SharedWritePattern : OpConversionPattern<SharedWriteOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SharedWriteOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    SharedType shared = op.getTarget().getType();
    Layout layout = layoutOf(cast<RankedTensorType>(op.getValue().getType()));
    Value start = threadStart(tb, shared, adaptor.getTarget().front(), layout);
    for (auto [r, value] : llvm::enumerate(adaptor.getValue()))
      LLVM::StoreOp::create(rewriter, op.getLoc(), value,
                            elementAddress(tb, shared, start, layout, r));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void attnc::populateSharedMemoryPatterns(const ThreadTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<AllocSharedPattern, StagePattern, CopyAsyncPattern, GatherAsyncPattern,
               CommitPattern, WaitPattern, BarrierPattern, SharedReadPattern, SharedWritePattern>(
      converter, patterns.getContext());
}
