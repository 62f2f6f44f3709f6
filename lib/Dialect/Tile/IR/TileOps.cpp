// Verifiers, folders and hand-written syntax of the tile ops.
#include "attnc/Dialect/Tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::tile;

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildFuncType = [](Builder &builder, ArrayRef<Type> argTypes, ArrayRef<Type> results,
                          function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(argTypes, results);
  };
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

LogicalResult KernelOp::verify() { return success(); }
LogicalResult KvLoopOp::verify() { return success(); }
LogicalResult MaskOp::verify() { return success(); }
LogicalResult SoftmaxStepOp::verify() { return success(); }
LogicalResult LoadOp::verify() { return success(); }
LogicalResult StoreOp::verify() { return success(); }
LogicalResult GatherOp::verify() { return success(); }
LogicalResult ScatterOp::verify() { return success(); }
LogicalResult SplatOp::verify() { return success(); }
LogicalResult IotaOp::verify() { return success(); }
LogicalResult BroadcastOp::verify() { return success(); }
LogicalResult MmaOp::verify() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
LogicalResult ConvertLayoutOp::verify() { return success(); }
LogicalResult StageOp::verify() { return success(); }
LogicalResult CopyAsyncOp::verify() { return success(); }
LogicalResult GatherAsyncOp::verify() { return success(); }
LogicalResult SharedReadOp::verify() { return success(); }
LogicalResult SharedWriteOp::verify() { return success(); }
LogicalResult WarpRolesOp::verify() { return success(); }
LogicalResult MmaAsyncOp::verify() { return success(); }
LogicalResult MmaWaitOp::verify() { return success(); }

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() ? getSource() : Value();
}

void MmaOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<SharedType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand);
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Tile/TileOps.cpp.inc"
