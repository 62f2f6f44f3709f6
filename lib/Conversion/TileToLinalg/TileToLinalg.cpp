// convert-tile-to-linalg: a tile kernel becomes a function on memrefs whose tiles are tensors and
// whose tile ops are linalg. Global memory accesses are in GlobalMemory.cpp.
#include "TileToLinalg.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace attnc {
#define GEN_PASS_DEF_CONVERTTILETOLINALG
#include "attnc/Conversion/Passes.h.inc"

Value predicateFromStorage(OpBuilder &builder, Location loc, Value value, Type elementType) {
  if (!elementType.isInteger(1))
    return value;
  return arith::TruncIOp::create(builder, loc, builder.getI1Type(), value);
}

namespace {

Type storageType(Type elementType) {
  return elementType.isInteger(1) ? IntegerType::get(elementType.getContext(), 8) : elementType;
}

Value toStorage(OpBuilder &builder, Location loc, Value value) {
  if (!value.getType().isInteger(1))
    return value;
  return arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
}

using BodyFn = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// A linalg.generic over all of `type` (a storage type) with parallel iterators. `maps` are those
/// of the inputs; `body` computes one element from one element of each input.
Value parallelGeneric(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
                      ArrayRef<AffineMap> inputMaps, BodyFn body) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, inputs, empty, maps, iterators,
      [&](OpBuilder &b, Location bodyLoc, ValueRange args) {
        Value element = toStorage(b, bodyLoc, body(b, bodyLoc, args));
        linalg::YieldOp::create(b, bodyLoc, element);
      });
  return generic.getResult(0);
}

/// Any elementwise op on tiles. Scalar operands (a scalar condition of a select) stay scalar.
struct ElementwiseToGeneric : ConversionPattern {
  ElementwiseToGeneric(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "not elementwise with one result");
    auto type = dyn_cast_or_null<RankedTensorType>(
        getTypeConverter()->convertType(op->getResult(0).getType()));
    if (!type)
      return rewriter.notifyMatchFailure(op, "the result is not a tile");
    SmallVector<Value> inputs;
    for (Value operand : operands)
      if (isa<RankedTensorType>(operand.getType()))
        inputs.push_back(operand);
    SmallVector<AffineMap> maps(inputs.size(), rewriter.getMultiDimIdentityMap(type.getRank()));
    Type elementType = getElementTypeOrSelf(op->getResult(0).getType());
    Value result = parallelGeneric(
        rewriter, op->getLoc(), type, inputs, maps, [&](OpBuilder &b, Location loc, ValueRange args) {
          SmallVector<Value> scalars;
          unsigned next = 0;
          for (auto [original, converted] : llvm::zip_equal(op->getOperands(), operands)) {
            if (isa<RankedTensorType>(converted.getType()))
              scalars.push_back(predicateFromStorage(b, loc, args[next++],
                                                     getElementTypeOrSelf(original.getType())));
            else
              scalars.push_back(converted);
          }
          Operation *scalar = b.create(loc, op->getName().getIdentifier(), scalars, elementType,
                                       op->getAttrs());
          return scalar->getResult(0);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// A splat constant becomes a fill, so that it is computed in registers or written into the buffer
/// that uses it, not copied from a global.
struct ConstantToFill : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!elements)
      return rewriter.notifyMatchFailure(op, "not a dense tile");
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    if (elements.isSplat()) {
      Value result = parallelGeneric(rewriter, op.getLoc(), type, {}, {},
                                     [&](OpBuilder &b, Location loc, ValueRange) -> Value {
                                       return arith::ConstantOp::create(
                                           b, loc, elements.getSplatValue<TypedAttr>());
                                     });
      rewriter.replaceOp(op, result);
      return success();
    }
    // Only predicates reach this point: other dense constants are legal as they are.
    SmallVector<int8_t> bytes;
    for (bool bit : elements.getValues<bool>())
      bytes.push_back(bit);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
    return success();
  }
};

struct SplatToGeneric : OpConversionPattern<tile::SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::SplatOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Value scalar = adaptor.getScalar();
    rewriter.replaceOp(op, parallelGeneric(rewriter, op.getLoc(), type, {}, {},
                                           [&](OpBuilder &, Location, ValueRange) { return scalar; }));
    return success();
  }
};

struct IotaToGeneric : OpConversionPattern<tile::IotaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::IotaOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value result = parallelGeneric(
        rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()), {}, {},
        [&](OpBuilder &b, Location loc, ValueRange) -> Value {
          return arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                            linalg::IndexOp::create(b, loc, 0));
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct BroadcastToGeneric : OpConversionPattern<tile::BroadcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::BroadcastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Type elementType = getElementTypeOrSelf(op.getType());
    // dim 1 repeats along the columns, so that the source is indexed by the row, and dim 0 by the
    // column.
    AffineMap map = AffineMap::get(2, 0, rewriter.getAffineDimExpr(1 - op.getDim()));
    Value result = parallelGeneric(rewriter, op.getLoc(), type, adaptor.getSource(), map,
                                   [&](OpBuilder &b, Location loc, ValueRange args) {
                                     return predicateFromStorage(b, loc, args[0], elementType);
                                   });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ReduceToGeneric : OpConversionPattern<tile::ReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    bool isMax = op.getKind() == tile::ReduceKind::Max;
    auto floatType = cast<FloatType>(type.getElementType());
    TypedAttr neutral =
        isMax ? TypedAttr(FloatAttr::get(floatType, APFloat::getInf(floatType.getFloatSemantics(),
                                                                    /*Negative=*/true)))
              : TypedAttr(rewriter.getFloatAttr(floatType, 0.0));
    Location loc = op.getLoc();
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(), floatType);
    Value zero = arith::ConstantOp::create(rewriter, loc, neutral);
    Value init = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    SmallVector<AffineMap> maps{
        rewriter.getMultiDimIdentityMap(2),
        AffineMap::get(2, 0, rewriter.getAffineDimExpr(1 - op.getDim()))};
    SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
    iterators[op.getDim()] = utils::IteratorType::reduction;
    auto generic = linalg::GenericOp::create(
        rewriter, loc, type, adaptor.getSource(), init, maps, iterators,
        [&](OpBuilder &b, Location bodyLoc, ValueRange args) {
          Value next = isMax ? Value(arith::MaxNumFOp::create(b, bodyLoc, args[0], args[1]))
                             : Value(arith::AddFOp::create(b, bodyLoc, args[0], args[1]));
          linalg::YieldOp::create(b, bodyLoc, next);
        });
    rewriter.replaceOp(op, generic.getResult(0));
    return success();
  }
};

/// acc + a·b in f32: operands are converted (and b transposed) whole, once, so that the product's
/// inner loop reads only f32 rows.
struct MmaToMatmul : OpConversionPattern<tile::MmaOp> {
  using OpConversionPattern::OpConversionPattern;

  static Value asF32(OpBuilder &builder, Location loc, Value tile, bool transpose) {
    auto type = cast<RankedTensorType>(tile.getType());
    if (type.getElementType().isF32() && !transpose)
      return tile;
    SmallVector<int64_t> shape(type.getShape());
    AffineMap map = builder.getMultiDimIdentityMap(2);
    if (transpose) {
      std::swap(shape[0], shape[1]);
      map = AffineMap::getPermutationMap(ArrayRef<int64_t>{1, 0}, builder.getContext());
    }
    return parallelGeneric(builder, loc, RankedTensorType::get(shape, builder.getF32Type()), tile,
                           map, [&](OpBuilder &b, Location bodyLoc, ValueRange args) -> Value {
                             if (args[0].getType().isF32())
                               return args[0];
                             return arith::ExtFOp::create(b, bodyLoc, b.getF32Type(), args[0]);
                           });
  }

  LogicalResult matchAndRewrite(tile::MmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<RankedTensorType>(op.getA().getType()) || !isa<RankedTensorType>(op.getB().getType()))
      return op.emitOpError("reads a shared buffer, which the host has not; run the host pipeline "
                            "before tile-pipeline-loads");
    Value a = asF32(rewriter, op.getLoc(), adaptor.getA(), /*transpose=*/false);
    Value b = asF32(rewriter, op.getLoc(), adaptor.getB(), op.getTransposeB());
    rewriter.replaceOpWithNewOp<linalg::MatmulOp>(op, TypeRange{op.getType()}, ValueRange{a, b},
                                                  ValueRange{adaptor.getAcc()});
    return success();
  }
};

/// tile.kernel → func.func with one more argument, the program id.
func::FuncOp kernelToFunction(tile::KernelOp kernel) {
  OpBuilder builder(kernel);
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  inputs.push_back(builder.getI32Type());
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                       builder.getFunctionType(inputs, {}));
  function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), builder.getUnitAttr());
  function.getBody().takeBody(kernel.getBody());
  Value programId = function.getBody().front().addArgument(builder.getI32Type(), kernel.getLoc());
  function.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op)) {
      id.getResult().replaceAllUsesWith(programId);
      id.erase();
    } else if (auto ret = dyn_cast<tile::ReturnOp>(op)) {
      OpBuilder atReturn(ret);
      func::ReturnOp::create(atReturn, ret.getLoc());
      ret.erase();
    }
  });
  kernel.erase();
  return function;
}

struct ConvertTileToLinalg : impl::ConvertTileToLinalgBase<ConvertTileToLinalg> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>()))
      kernelToFunction(kernel);

    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](RankedTensorType type) -> Type {
      return RankedTensorType::get(type.getShape(), storageType(type.getElementType()));
    });

    ConversionTarget target(*context);
    target.addIllegalDialect<tile::TileDialect>();
    target.addDynamicallyLegalOp<arith::ConstantOp>([](arith::ConstantOp op) {
      auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
      return !isa<RankedTensorType>(op.getType()) ||
             (elements && !elements.isSplat() && !elements.getElementType().isInteger(1));
    });
    target.markUnknownOpDynamicallyLegal([](Operation *op) {
      return !(OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
               isa<RankedTensorType>(op->getResult(0).getType()));
    });

    RewritePatternSet patterns(context);
    patterns.add<ElementwiseToGeneric>(converter, context);
    patterns.add<BroadcastToGeneric, ConstantToFill, IotaToGeneric, MmaToMatmul, ReduceToGeneric,
                 SplatToGeneric>(converter, context);
    populateGlobalMemoryPatterns(converter, patterns);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace attnc
