// mbarriers, elected threads and the bulk copies that mbarriers count.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

Value attnc::sharedAddress(ThreadBuilder &tb, Value pointer) {
  return LLVM::PtrToIntOp::create(tb.builder, tb.loc, tb.builder.getI32Type(), pointer);
}

Operation *attnc::emitAssembly(ThreadBuilder &tb, Type result, ValueRange operands, StringRef text,
                               StringRef constraints) {
  return LLVM::InlineAsmOp::create(tb.builder, tb.loc, result ? TypeRange(result) : TypeRange(),
                                   operands, text, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   /*asm_dialect=*/LLVM::AsmDialectAttr(),
                                   /*operand_attrs=*/ArrayAttr());
}

/// The address of a stage's barrier. Each is eight bytes.
static Value barrierAddress(ThreadBuilder &tb, Value barriers, Value stage) {
  return sharedAddress(tb, movePointer(tb, barriers, tb.builder.getI64Type(), stage));
}

namespace {

struct ElectPattern : OpConversionPattern<ElectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ElectOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    int64_t first = enclosingRole(rewriter.getInsertionBlock()).firstWarp * 32;
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, arith::CmpIPredicate::eq, tb.thread(),
                                               tb.i32(first));
    return success();
  }
};

struct MbarrierAllocPattern : OpConversionPattern<MbarrierAllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MbarrierAllocOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(kSharedOffsetAttrName);
    if (!offset)
      return rewriter.notifyMatchFailure(op, "the barriers have not been placed");
    ThreadBuilder tb(rewriter, op.getLoc());
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext(), kSharedSpace);
    Value base = LLVM::AddressOfOp::create(rewriter, op.getLoc(), pointer, kSharedSymbol);
    base = movePointer(tb, base, rewriter.getI8Type(), offset.getInt());
    Value isFirst = arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::eq,
                                          tb.thread(), tb.i32(0));
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), isFirst, /*withElse=*/false);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      for (int64_t i = 0; i < op.getBarriers().getType().getCount(); ++i)
        emitAssembly(tb, Type(),
                     {barrierAddress(tb, base, tb.i32(i)), tb.i32(op.getArrivals())},
                     "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}");
      // Shows the barriers to the copy engine; a CTA barrier shows them to the other threads.
      NVVM::FenceMbarrierInitOp::create(rewriter, op.getLoc());
    }
    rewriter.replaceOp(op, base);
    return success();
  }
};

struct MbarrierArrivePattern : OpConversionPattern<MbarrierArriveOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MbarrierArriveOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    Value address =
        barrierAddress(tb, adaptor.getBarriers().front(), adaptor.getStage().front());
    // One lane arrives for its warp, by a predicate: a branch would split the loop's block.
    Value lane = tb.lane();
    if (std::optional<uint32_t> bytes = op.getBytes())
      emitAssembly(tb, Type(), {address, lane, tb.i32(*bytes)},
                   "{ .reg .pred first; setp.eq.u32 first, $1, 0; "
                   "@first mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $2; }",
                   "r,r,r,~{memory}");
    else
      emitAssembly(tb, Type(), {address, lane},
                   "{ .reg .pred first; setp.eq.u32 first, $1, 0; "
                   "@first mbarrier.arrive.shared::cta.b64 _, [$0]; }",
                   "r,r,~{memory}");
    rewriter.eraseOp(op);
    return success();
  }
};

struct MbarrierWaitPattern : OpConversionPattern<MbarrierWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MbarrierWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    Value address =
        barrierAddress(tb, adaptor.getBarriers().front(), adaptor.getStage().front());
    emitAssembly(tb, Type(), {address, adaptor.getParity().front()},
                 "{ .reg .pred done; again_${:uid}: "
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
                 "@done bra.uni over_${:uid}; bra.uni again_${:uid}; over_${:uid}: }",
                 "r,r,~{memory}");
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaLoadPattern : OpConversionPattern<TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TmaLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    SharedType target = op.getTarget().getType();
    Type element = target.getElementType();
    int64_t rows = target.getShape()[0], columns = target.getShape()[1];
    int64_t panel = 1024 / element.getIntOrFloatBitWidth();
    if (op.getMap().getType().getBox()[3] != panel)
      return op.emitError("a box is one panel of ")
             << panel << " columns wide, got " << op.getMap().getType();
    Value barrier =
        barrierAddress(tb, adaptor.getBarriers().front(), adaptor.getStage().front());
    SmallVector<Value> indices = llvm::map_to_vector(
        adaptor.getIndices(), [](ValueRange range) { return Value(range.front()); });
    for (int64_t column = 0; column < columns; column += panel) {
      Value to = movePointer(tb, adaptor.getTarget().front(), element, column * rows);
      emitAssembly(tb, Type(),
                   {sharedAddress(tb, to), adaptor.getMap().front(), tb.i32(column), indices[2],
                    indices[1], indices[0], barrier},
                   "cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                   ".mbarrier::complete_tx::bytes "
                   "[$0], [$1, {$2, $3, $4, $5}], [$6];",
                   "r,l,r,r,r,r,r,~{memory}");
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void attnc::populateBarrierPatterns(const ThreadTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<ElectPattern, MbarrierAllocPattern, MbarrierArrivePattern, MbarrierWaitPattern,
               TmaLoadPattern>(converter, patterns.getContext());
}
