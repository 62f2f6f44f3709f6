// Elementwise ops, tile construction, row reductions and register renaming.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/bit.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

namespace {

/// Any elementwise op: once a register, on scalars.
struct ElementwisePattern : ConversionPattern {
  ElementwisePattern(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 ||
        !isPlacedTile(op->getResult(0).getType()))
      return rewriter.notifyMatchFailure(op, "not an elementwise op on a placed tile");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (isa<arith::TruncFOp>(op) && type.getElementTypeBitWidth() == 16)
      return truncatePairs(op, operands.front(), type, rewriter);
    SmallVector<Value> results;
    for (int64_t r = 0, e = layoutOf(type).numRegs(); r < e; ++r) {
      SmallVector<Value> scalars;
      for (auto [operand, original] : llvm::zip(operands, op->getOperands()))
        scalars.push_back(isPlacedTile(original.getType()) ? operand[r] : operand.front());
      OperationState state(op->getLoc(), op->getName());
      state.addOperands(scalars);
      state.addTypes(type.getElementType());
      state.propertiesAttr = op->getPropertiesAsAttribute();
      Operation *scalar = rewriter.create(state);
      // A quotient by a uniform value becomes a product with its reciprocal.
      if (auto quotient = dyn_cast<arith::DivFOp>(scalar))
        quotient.setFastmath(quotient.getFastmath() | arith::FastMathFlags::arcp);
      results.push_back(scalar->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }

  /// Rounds two neighbours with one cvt: the pair form is what matrix operands are packed from.
  static LogicalResult truncatePairs(Operation *op, ValueRange source, RankedTensorType type,
                                     ConversionPatternRewriter &rewriter) {
    Location loc = op->getLoc();
    ThreadBuilder tb(rewriter, loc);
    SmallVector<Value> results;
    if (source.size() % 2 != 0) {
      for (Value value : source)
        results.push_back(arith::TruncFOp::create(rewriter, loc, type.getElementType(), value));
      rewriter.replaceOpWithMultiple(op, {results});
      return success();
    }
    Type wide = VectorType::get({2}, source.front().getType());
    Type narrow = VectorType::get({2}, type.getElementType());
    for (size_t r = 0; r < source.size(); r += 2) {
      Value pair = LLVM::PoisonOp::create(rewriter, loc, wide);
      pair = LLVM::InsertElementOp::create(rewriter, loc, pair, source[r], tb.i32(0));
      pair = LLVM::InsertElementOp::create(rewriter, loc, pair, source[r + 1], tb.i32(1));
      Value rounded = LLVM::FPTruncOp::create(rewriter, loc, narrow, pair);
      results.push_back(LLVM::ExtractElementOp::create(rewriter, loc, rounded, tb.i32(0)));
      results.push_back(LLVM::ExtractElementOp::create(rewriter, loc, rounded, tb.i32(1)));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ConstantPattern : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isPlacedTile(op.getType()))
      return rewriter.notifyMatchFailure(op, "not a tile");
    auto elements = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!elements)
      return rewriter.notifyMatchFailure(op, "only splat constants have a value in every thread");
    Value scalar = arith::ConstantOp::create(rewriter, op.getLoc(),
                                             cast<TypedAttr>(elements.getSplatValue<Attribute>()));
    int64_t regs = layoutOf(cast<RankedTensorType>(op.getType())).numRegs();
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(regs, scalar)});
    return success();
  }
};

struct SplatPattern : OpConversionPattern<SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SplatOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    int64_t regs = layoutOf(op.getResult().getType()).numRegs();
    rewriter.replaceOpWithMultiple(
        op, {SmallVector<Value>(regs, adaptor.getScalar().front())});
    return success();
  }
};

struct IotaPattern : OpConversionPattern<IotaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(IotaOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Layout layout = layoutOf(op.getResult().getType());
    ThreadBuilder tb(rewriter, op.getLoc());
    Value base = tb.base(layout, 0);
    SmallVector<Value> results;
    for (int64_t r = 0, e = layout.numRegs(); r < e; ++r)
      results.push_back(tb.add(base, layout.regCoord(r)[0]));
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct BroadcastPattern : OpConversionPattern<BroadcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BroadcastOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Layout layout = layoutOf(op.getResult().getType());
    Layout expected = layout.slice(op.getDim());
    if (!(layoutOf(op.getSource().getType()).sameOwners(expected)))
      return rewriter.notifyMatchFailure(op, "the source is not the result's slice");
    ValueRange source = adaptor.getSource();
    SmallVector<Value> results;
    for (int64_t index : layout.regsOfSlice(op.getDim()))
      results.push_back(source[index]);
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

/// Registers of the same coordinate; across threads nothing moves.
struct ConvertLayoutPattern : OpConversionPattern<ConvertLayoutOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Layout from = layoutOf(op.getSource().getType()), to = layoutOf(op.getResult().getType());
    if (!from.sameOwners(to))
      return op.emitError("a conversion between threads is not supported: from ")
             << op.getSource().getType().getEncoding() << " to "
             << op.getResult().getType().getEncoding();
    std::map<SmallVector<int64_t, 2>, Value> held;
    for (auto [r, value] : llvm::enumerate(adaptor.getSource()))
      held[from.regCoord(r)] = value;
    SmallVector<Value> results;
    for (int64_t r = 0, e = to.numRegs(); r < e; ++r)
      results.push_back(held.at(to.regCoord(r)));
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ReducePattern : OpConversionPattern<ReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ReduceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Layout layout = layoutOf(op.getSource().getType());
    int64_t dim = op.getDim();
    for (const Mode &mode : layout.warp)
      if (mode.extent > 1 && mode.step[dim] != 0)
        return op.emitError("a reduction across warps is not supported; the layout spreads "
                            "dimension ")
               << dim << " over " << mode.extent << " warps";
    Location loc = op.getLoc();
    ThreadBuilder tb(rewriter, loc);
    auto combine = [&](Value a, Value b) -> Value {
      if (op.getKind() == ReduceKind::Max)
        return arith::MaxNumFOp::create(rewriter, loc, a, b);
      return arith::AddFOp::create(rewriter, loc, a, b);
    };
    SmallVector<int64_t> groupOf = layout.regsOfSlice(dim);
    SmallVector<SmallVector<Value>> groups(layout.slice(dim).numRegs());
    for (auto [r, value] : llvm::enumerate(adaptor.getSource()))
      groups[groupOf[r]].push_back(value);
    SmallVector<Value> results;
    for (SmallVector<Value> &group : groups) {
      // A tree: short dependency chains.
      while (group.size() > 1) {
        SmallVector<Value> next;
        for (size_t i = 0; i + 1 < group.size(); i += 2)
          next.push_back(combine(group[i], group[i + 1]));
        if (group.size() % 2 != 0)
          next.push_back(group.back());
        group = std::move(next);
      }
      results.push_back(group.front());
    }
    int64_t weight = 1;
    for (const Mode &mode : layout.lane) {
      if (mode.step[dim] != 0)
        for (int64_t distance = weight; distance < weight * mode.extent; distance *= 2)
          for (Value &value : results)
            value = combine(value, shuffle(tb, value, distance));
      weight *= mode.extent;
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }

  static Value shuffle(ThreadBuilder &tb, Value value, int64_t distance) {
    return NVVM::ShflOp::create(tb.builder, tb.loc, value.getType(), tb.i32(-1), value,
                                tb.i32(distance), tb.i32(31), NVVM::ShflKind::bfly, UnitAttr());
  }
};

struct ProgramIdPattern : OpConversionPattern<ProgramIdOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ProgramIdOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::BlockIdXOp>(op, rewriter.getI32Type());
    return success();
  }
};

struct NumProgramsPattern : OpConversionPattern<NumProgramsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(NumProgramsOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::GridDimXOp>(op, rewriter.getI32Type());
    return success();
  }
};

} // namespace

void attnc::populateElementwisePatterns(const ThreadTypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<ElementwisePattern, ConstantPattern, SplatPattern, IotaPattern, BroadcastPattern,
               ConvertLayoutPattern, ReducePattern, ProgramIdPattern, NumProgramsPattern>(
      converter, patterns.getContext());
}
