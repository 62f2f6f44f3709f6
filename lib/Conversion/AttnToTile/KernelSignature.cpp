// Kernel arguments: see KernelSignature.h.
#include "KernelSignature.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attnc;

MemRefType attnc::kernelMemRefType(RankedTensorType tensor, bool rowMajor) {
  SmallVector<int64_t> shape(tensor.getRank(), ShapedType::kDynamic);
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  if (rowMajor) {
    shape.back() = tensor.getShape().back();
    strides.back() = 1;
  }
  return MemRefType::get(shape, tensor.getElementType(),
                         StridedLayoutAttr::get(tensor.getContext(), /*offset=*/0, strides));
}

void KernelSignature::add(StringRef name, Type type) {
  names.push_back(name.str());
  types.push_back(type);
  sources.push_back({});
}

LogicalResult KernelSignature::addArgument(Value value, bool rowMajor) {
  if (llvm::is_contained(sources, value))
    return success();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &func.getBody().front())
    return emitError(value.getLoc())
           << "an operand of an attention op is computed in the function; the kernel can read only "
              "the function's arguments; pass it as an argument";
  auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kAttnName);
  if (!name)
    return func.emitError() << "argument " << argument.getArgNumber() << " has no '" << kAttnName
                            << "'; the runtime binds arguments by name, so give it one";
  Type type = value.getType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = kernelMemRefType(tensor, rowMajor);
  add(name.getValue(), type);
  sources.back() = value;
  return success();
}

LogicalResult KernelSignature::visitCapture(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (!llvm::is_contained(capturedArguments, value))
      capturedArguments.push_back(value);
    return success();
  }
  if (capturedOps.contains(op))
    return success();
  if (!isPure(op) || op->getNumRegions() != 0 ||
      llvm::any_of(op->getResultTypes(), [](Type type) { return !type.isIntOrFloat(); }))
    return op->emitError() << "a region captures the result of '" << op->getName()
                           << "'; only arguments and pure ops on scalars can be captured";
  for (Value operand : op->getOperands())
    if (failed(visitCapture(operand)))
      return failure();
  capturedOps.insert(op);
  return success();
}

LogicalResult KernelSignature::addCaptures(ArrayRef<Region *> regions) {
  llvm::SetVector<Value> values;
  for (Region *region : regions)
    getUsedValuesDefinedAbove(*region, values);
  for (Value value : values)
    if (failed(visitCapture(value)))
      return failure();
  llvm::sort(capturedArguments, [](Value a, Value b) {
    return cast<BlockArgument>(a).getArgNumber() < cast<BlockArgument>(b).getArgNumber();
  });
  for (Value argument : capturedArguments)
    if (failed(addArgument(argument)))
      return failure();
  return success();
}

tile::KernelOp KernelSignature::create(StringRef name, int64_t warps, StringRef role,
                                       Attribute grid, IRMapping &captures) {
  OpBuilder builder(func);
  SmallVector<Attribute> argAttrs;
  for (StringRef argName : names)
    argAttrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(tile::KernelOp::getNameAttrName(), builder.getStringAttr(argName))));
  auto kernel = tile::KernelOp::create(builder, func.getLoc(), name,
                                       builder.getFunctionType(types, {}), warps, role, grid,
                                       builder.getArrayAttr(argAttrs), /*res_attrs=*/nullptr);
  Block *entry = builder.createBlock(&kernel.getBody(), {}, types,
                                     SmallVector<Location>(types.size(), func.getLoc()));
  for (auto [source, argument] : llvm::zip_equal(sources, entry->getArguments()))
    if (source)
      captures.map(source, argument);
  for (Operation *op : capturedOps)
    builder.clone(*op, captures);
  tile::ReturnOp::create(builder, func.getLoc());
  return kernel;
}

Value KernelSignature::find(tile::KernelOp kernel, StringRef name) {
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (kernel.getArgName(argument.getArgNumber()) == name)
      return argument;
  return {};
}

StringRef attnc::returnedAs(func::FuncOp func, Value value) {
  if (!value)
    return {};
  for (OpOperand &use : value.getUses())
    if (isa<func::ReturnOp>(use.getOwner()))
      if (auto name = func.getResultAttrOfType<StringAttr>(use.getOperandNumber(), kAttnName))
        return name.getValue();
  return {};
}

Attribute attnc::symbol(Builder &builder, StringRef name) { return builder.getStringAttr(name); }

Attribute attnc::number(Builder &builder, int64_t value) {
  return builder.getI64IntegerAttr(value);
}

Attribute attnc::binary(Builder &builder, StringRef op, Attribute a, Attribute b) {
  return builder.getArrayAttr({builder.getStringAttr(op), a, b});
}
