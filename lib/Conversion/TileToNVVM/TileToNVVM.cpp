// convert-tile-to-nvvm: from the program of a CTA on tiles to the program of one thread.
//
// Shared buffers are placed and warp roles become branches; then everything converts one to many
// (ThreadView.h). Control flow stays scf, scalars stay arith: upstream lowers those.
#include "ThreadView.h"

#include "attnc/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attnc {
#define GEN_PASS_DEF_CONVERTTILETONVVM
#include "attnc/Conversion/Passes.h.inc"
} // namespace attnc

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

/// The alignment of a buffer, in bytes: a swizzle's pattern is part of the address.
static int64_t sharedAlignment(SharedType type) { return type.getSwizzle() ? 1024 : 128; }

/// Gives each shared buffer of a kernel its offset, mbarriers after the buffers. Returns the bytes
/// used, and raises `alignment` to what the buffers need.
static int64_t placeSharedBuffers(KernelOp kernel, int64_t &alignment) {
  int64_t bytes = 0;
  Builder builder(kernel.getContext());
  kernel.walk([&](AllocSharedOp op) {
    SharedType type = op.getBuffer().getType();
    alignment = std::max(alignment, sharedAlignment(type));
    bytes = llvm::alignTo(bytes, sharedAlignment(type));
    op->setAttr(kSharedOffsetAttrName, builder.getI64IntegerAttr(bytes));
    bytes += llvm::alignTo(type.getSizeInBytes(), 128);
  });
  kernel.walk([&](MbarrierAllocOp op) {
    op->setAttr(kSharedOffsetAttrName, builder.getI64IntegerAttr(bytes));
    bytes += op.getBarriers().getType().getCount() * 8;
  });
  return bytes;
}

namespace {

struct KernelPattern : OpConversionPattern<KernelOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(KernelOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    if (failed(getTypeConverter()->convertSignatureArgs(op.getArgumentTypes(), signature)))
      return rewriter.notifyMatchFailure(op, "an argument has a type no thread can take");
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()),
                                            signature.getConvertedTypes());
    auto function = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getSymName(), type);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                      rewriter.getDenseI32ArrayAttr({static_cast<int32_t>(op.getWarps() * 32)}));
    if (auto schedule = op->getAttrOfType<DictionaryAttr>(kScheduleAttrName))
      if (auto ctas = schedule.getAs<IntegerAttr>("ctas_per_sm"))
        function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                          rewriter.getI32IntegerAttr(ctas.getInt()));
    function->setAttr(kSharedBytesAttrName, op->getAttr(kSharedBytesAttrName));
    StringRef minCtas = NVVM::NVVMDialect::getMinctasmAttrName();
    if (Attribute count = op->getAttr(minCtas))
      function->setAttr(minCtas, count);
    for (auto [index, argument] : llvm::enumerate(op.getArgumentTypes()))
      if (isa<TensorMapType>(argument))
        setTensorMapAttrs(function, signature.getInputMapping(index)->inputNo);
    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), *getTypeConverter(), &signature)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }

  /// The 128 bytes of a tensor map travel in the parameter itself, where the copy engine reads them.
  static void setTensorMapAttrs(LLVM::LLVMFuncOp function, unsigned index) {
    Builder b(function.getContext());
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
};

struct ReturnPattern : OpConversionPattern<tile::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ReturnOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

struct ConvertTileToNVVM : attnc::impl::ConvertTileToNVVMBase<ConvertTileToNVVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    bool anyShared = false;
    int64_t alignment = 128;
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      int64_t bytes = placeSharedBuffers(kernel, alignment);
      anyShared |= bytes != 0;
      kernel->setAttr(kSharedBytesAttrName, Builder(context).getI64IntegerAttr(bytes));
      if (failed(prepareWarps(kernel)))
        return signalPassFailure();
    }
    if (anyShared)
      declareSharedMemory(module, alignment);

    ThreadTypeConverter converter(context);
    RewritePatternSet patterns(context);
    patterns.add<KernelPattern, ReturnPattern>(converter, context);
    populateElementwisePatterns(converter, patterns);
    populateGlobalMemoryPatterns(converter, patterns);
    populateSharedMemoryPatterns(converter, patterns);
    populateProductPatterns(converter, patterns);
    populateBarrierPatterns(converter, patterns);
    populateAsyncProductPatterns(converter, patterns);
    ConversionTarget target(*context);
    target.addIllegalDialect<TileDialect>();
    target.addIllegalOp<memref::LoadOp>();
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.markUnknownOpDynamicallyLegal([&](Operation *op) { return converter.isLegal(op); });
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return signalPassFailure();

    RewritePatternSet mathPatterns(context);
    populateMathToNVVMPatterns(mathPatterns);
    if (failed(applyPatternsGreedily(module, std::move(mathPatterns))))
      signalPassFailure();
  }

  /// All shared memory is one dynamic array: the launch sizes it, so that more than 48 KiB can be
  /// asked for.
  static void declareSharedMemory(ModuleOp module, int64_t alignment) {
    OpBuilder builder(module.getBodyRegion());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false,
                           LLVM::Linkage::External, kSharedSymbol, Attribute(), alignment,
                           kSharedSpace);
  }
};
} // namespace
