// Verifiers and hand-written syntax of the ops of TileOps.td; those of TileMemoryOps.td are in
// TileMemoryOps.cpp.
#include "TileShapes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tile;

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildFuncType = [](Builder &builder, ArrayRef<Type> argTypes, ArrayRef<Type> results,
                          function_interface_impl::VariadicFlag,
                          std::string &) { return builder.getFunctionType(argTypes, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildFuncType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

StringRef KernelOp::getArgName(unsigned index) {
  auto name = getArgAttrOfType<StringAttr>(index, getNameAttrName());
  return name ? name.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// C4 of tile.kernel: an integer, a symbol, or [op, a, b].
static bool isGridExpression(Attribute expression) {
  if (isa<IntegerAttr>(expression))
    return true;
  if (auto symbol = dyn_cast<StringAttr>(expression))
    return !symbol.getValue().empty();
  auto node = dyn_cast<ArrayAttr>(expression);
  if (!node || node.size() != 3)
    return false;
  auto op = dyn_cast<StringAttr>(node[0]);
  return op && llvm::is_contained({"add", "sub", "mul", "ceildiv", "min", "max"}, op.getValue()) &&
         isGridExpression(node[1]) && isGridExpression(node[2]);
}

LogicalResult KernelOp::verify() {
  if (getFunctionType().getNumResults() != 0)
    return emitOpError("C1: a kernel has no results, got ")
           << getFunctionType().getNumResults() << "; write outputs through memref arguments";
  llvm::StringSet<> names;
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (!isa<MemRefType, TensorMapType>(type) && !type.isSignlessInteger(32) && !type.isF32())
      return emitOpError("C1: argument ")
             << index << " has type " << type << "; allowed are memref, tensor_map, i32 and f32";
    StringRef name = getArgName(index);
    if (name.empty())
      return emitOpError("C1: argument ")
             << index << " has no '" << getNameAttrName()
             << "'; the runtime binds arguments by name, so give it one";
    if (!names.insert(name).second)
      return emitOpError("C1: two arguments are named '") << name << "'; names must be unique";
  }
  if (getWarps() < 1 || getWarps() > 32)
    return emitOpError("C2: a CTA has 1 to 32 warps, got ") << static_cast<int32_t>(getWarps());
  if (getRole() != "main" && getRole() != "combine")
    return emitOpError("C3: the role is \"main\" or \"combine\", got \"") << getRole() << '"';
  if (!isGridExpression(getGrid()))
    return emitOpError("C4: the grid is ")
           << getGrid() << "; allowed are an integer, a symbol name, or [op, a, b] with op one of "
           << "add, sub, mul, ceildiv, min, max";
  return success();
}

LogicalResult KvLoopOp::verify() {
  if (static_cast<int32_t>(getStep()) < 1)
    return emitOpError("C2: the step is ")
           << static_cast<int32_t>(getStep()) << " keys; it must be positive";
  Block &body = getBody().front();
  auto differ = [&](StringRef what, TypeRange types) -> LogicalResult {
    TypeRange inits = getInits().getTypes();
    if (llvm::equal(types, inits))
      return success();
    InFlightDiagnostic diag = emitOpError("C1: ");
    diag << what << " have types (";
    llvm::interleaveComma(types, diag);
    diag << ") and the inits (";
    llvm::interleaveComma(inits, diag);
    return diag << "); the carried values must agree throughout";
  };
  if (body.getNumArguments() == 0 || !body.getArgument(0).getType().isSignlessInteger(32))
    return emitOpError("C1: the body's first argument is the block start, an i32");
  if (failed(differ("the body's carried arguments",
                    TypeRange(body.getArgumentTypes()).drop_front())) ||
      failed(differ("the results", getResultTypes())))
    return failure();
  // That there is a terminator is the trait's to say.
  if (auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back()))
    return differ("the yielded values", yield.getValues().getTypes());
  return success();
}

LogicalResult MaskOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 0)
    return emitOpError("C1: the body has ")
           << body.getNumArguments() << " arguments; it takes none and captures what it needs";
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return success();
  auto predicate =
      RankedTensorType::get(getScores().getType().getShape(), IntegerType::get(getContext(), 1));
  auto type = yield.getValues().size() == 1
                  ? dyn_cast<RankedTensorType>(yield.getValues()[0].getType())
                  : RankedTensorType();
  if (!type || type.getShape() != predicate.getShape() ||
      type.getElementType() != predicate.getElementType())
    return emitOpError("C1: the body must yield one ")
           << predicate << ", got (" << yield.getValues().getTypes() << ")";
  return success();
}

LogicalResult SoftmaxStepOp::verify() {
  RankedTensorType scores = getScores().getType(), max = getMax().getType();
  if (scores.getRank() != 2 || !scores.getElementType().isF32())
    return emitOpError("C1: scores are a rank-2 f32 tile, got ") << scores;
  if (max.getRank() != 1 || !max.getElementType().isF32() ||
      max.getDimSize(0) != scores.getDimSize(0))
    return emitOpError("C1: max and sum are f32 tiles of one element a row (")
           << scores.getDimSize(0) << "), got " << max;
  if (!getExponentScale().isFinite() || getExponentScale().isNegative() ||
      getExponentScale().isZero())
    return emitOpError("C2: the exponent scale is finite and positive, got ")
           << getExponentScaleAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  return verifyRowBlock(*this, cast<MemRefType>(getSource().getType()), getIndices().size(),
                        getType().getShape(), getType().getElementType());
}

LogicalResult StoreOp::verify() {
  RankedTensorType type = getValue().getType();
  return verifyRowBlock(*this, cast<MemRefType>(getTarget().getType()), getIndices().size(),
                        type.getShape(), type.getElementType());
}

LogicalResult GatherOp::verify() {
  return verifyIndexed(*this, cast<MemRefType>(getSource().getType()), getIndices(), getWhere(),
                       getType().getShape(), getType().getElementType(), /*rowsOnly=*/false);
}

LogicalResult ScatterOp::verify() {
  RankedTensorType type = getValue().getType();
  return verifyIndexed(*this, cast<MemRefType>(getTarget().getType()), getIndices(), getWhere(),
                       type.getShape(), type.getElementType(), /*rowsOnly=*/false);
}

//===----------------------------------------------------------------------===//
// Making tiles
//===----------------------------------------------------------------------===//

LogicalResult SplatOp::verify() {
  RankedTensorType type = getType();
  if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2)
    return emitOpError("C1: a tile has static rank 1 or 2, got ") << type;
  if (type.getElementType() != getScalar().getType())
    return emitOpError("C1: the scalar is ")
           << getScalar().getType() << " and the tile holds " << type.getElementType()
           << "; convert the scalar first";
  return success();
}

LogicalResult IotaOp::verify() {
  if (!getType().hasStaticShape() || getType().getRank() != 1)
    return emitOpError("C1: the result has static rank 1, got ")
           << getType() << "; use tile.broadcast to repeat it";
  return success();
}

/// C1 of broadcast and reduce: `vector` is `matrix` without dimension `dim`.
static LogicalResult verifySlice(Operation *op, RankedTensorType vector, RankedTensorType matrix,
                                 int64_t dim) {
  if (dim != 0 && dim != 1)
    return op->emitOpError("C1: dim is 0 or 1, got ") << dim;
  if (vector.getRank() != 1 || matrix.getRank() != 2 ||
      vector.getDimSize(0) != matrix.getDimSize(1 - dim) ||
      vector.getElementType() != matrix.getElementType())
    return op->emitOpError("C1: ") << vector << " is not " << matrix << " without dimension " << dim
                                   << "; ranks must be 1 and 2, the other extent and the element "
                                      "type equal";
  return success();
}

LogicalResult BroadcastOp::verify() {
  return verifySlice(*this, getSource().getType(), getType(), getDim());
}

//===----------------------------------------------------------------------===//
// Products and reductions
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  return verifyProduct(*this, getA().getType(), getB().getType(), getAcc().getType(),
                       getTransposeB());
}

LogicalResult ReduceOp::verify() {
  return verifySlice(*this, getType(), getSource().getType(), getDim());
}

void MmaOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<SharedType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand);
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Tile/TileOps.cpp.inc"
