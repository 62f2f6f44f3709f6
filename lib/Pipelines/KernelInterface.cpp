// Reads launch interfaces off tile kernels.
#include "attnc/Pipelines/KernelInterface.h"

#include "attnc/Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attnc {

/// The JSON form of a package expression held in attributes; empty for anything else.
static std::optional<llvm::json::Value> expressionToJson(Attribute attr) {
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return llvm::json::Value(integer.getInt());
  if (auto symbol = dyn_cast<StringAttr>(attr))
    return llvm::json::Value(symbol.getValue());
  auto array = dyn_cast<ArrayAttr>(attr);
  if (!array || array.size() != 3 || !isa<StringAttr>(array[0]))
    return std::nullopt;
  llvm::json::Array result{cast<StringAttr>(array[0]).getValue()};
  for (Attribute operand : array.getValue().drop_front()) {
    std::optional<llvm::json::Value> value = expressionToJson(operand);
    if (!value)
      return std::nullopt;
    result.push_back(std::move(*value));
  }
  return llvm::json::Value(std::move(result));
}

static std::optional<DType> dtypeOf(Type type) {
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isInteger(1) || type.isInteger(8))
    return DType::Bool;
  if (isa<Float8E4M3FNType>(type))
    return DType::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return DType::F8E5M2;
  return std::nullopt;
}

/// `NAME.map` describes the tensor NAME. Its boxes are panels of the swizzled form.
static FailureOr<KernelParam> readTensorMap(tile::KernelOp kernel, StringRef name,
                                            tile::TensorMapType type) {
  constexpr StringLiteral kSuffix = ".map";
  constexpr int64_t kSwizzleBytes = 128;
  KernelParam param;
  param.kind = KernelParam::Kind::TensorMap;
  std::optional<DType> dtype = dtypeOf(type.getElementType());
  if (!name.consume_back(kSuffix) || name.empty() || !dtype)
    return kernel.emitError("argument '")
           << name << "' of type " << type << " is no tensor map that packages can name: NAME"
           << kSuffix << " of a tensor NAME";
  param.name = name.str();
  param.dtype = *dtype;
  param.rank = type.getBox().size();
  param.box.assign(type.getBox().begin(), type.getBox().end());
  param.swizzle = kSwizzleBytes;
  return param;
}

static FailureOr<KernelParam> readParam(tile::KernelOp kernel, unsigned index) {
  KernelParam param;
  param.name = kernel.getArgName(index).str();
  Type type = kernel.getArgumentTypes()[index];
  if (auto map = dyn_cast<tile::TensorMapType>(type))
    return readTensorMap(kernel, kernel.getArgName(index), map);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) {
    param.kind = type.isF32() ? KernelParam::Kind::F32 : KernelParam::Kind::I32;
    return param;
  }
  param.kind = KernelParam::Kind::Tensor;
  std::optional<DType> dtype = dtypeOf(memref.getElementType());
  if (!dtype)
    return kernel.emitError("argument '")
           << param.name << "' has elements of type " << memref.getElementType()
           << ", which packages cannot name";
  param.dtype = *dtype;
  param.rank = memref.getRank();
  param.shape.assign(memref.getShape().begin(), memref.getShape().end());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return kernel.emitError("argument '") << param.name << "' has no strided layout";
  param.unitInner = !strides.empty() && strides.back() == 1;
  return param;
}

static FailureOr<WorkspaceInterface> readWorkspace(ModuleOp module, Attribute attr) {
  auto entry = dyn_cast<DictionaryAttr>(attr);
  auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
  auto dtype = entry ? entry.getAs<StringAttr>("dtype") : StringAttr();
  auto shape = entry ? entry.getAs<ArrayAttr>("shape") : ArrayAttr();
  WorkspaceInterface result;
  if (!name || !dtype || !shape || !parseDType(dtype.str(), result.dtype))
    return module.emitError("'") << tile::kWorkspaceAttrName
                                 << "' holds dictionaries {name, dtype, shape}; found " << attr;
  result.name = name.str();
  for (Attribute extent : shape) {
    std::optional<llvm::json::Value> value = expressionToJson(extent);
    if (!value)
      return module.emitError("workspace '")
             << name.getValue() << "': " << extent << " is no package expression";
    result.shape.push_back(std::move(*value));
  }
  return result;
}

FailureOr<ProgramInterface> readProgramInterface(ModuleOp module) {
  ProgramInterface program;
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>()) {
    KernelInterface result;
    result.entry = kernel.getSymName().str();
    result.role = kernel.getRole().str();
    result.warps = kernel.getWarps();
    std::optional<llvm::json::Value> grid = expressionToJson(kernel.getGrid());
    if (!grid)
      return kernel.emitError("grid ") << kernel.getGrid() << " is no package expression";
    result.grid = std::move(*grid);
    for (unsigned i = 0, e = kernel.getArgumentTypes().size(); i < e; ++i) {
      FailureOr<KernelParam> param = readParam(kernel, i);
      if (failed(param))
        return failure();
      result.params.push_back(std::move(*param));
    }
    program.kernels.push_back(std::move(result));
  }
  if (auto workspace = module->getAttrOfType<ArrayAttr>(tile::kWorkspaceAttrName))
    for (Attribute attr : workspace) {
      FailureOr<WorkspaceInterface> entry = readWorkspace(module, attr);
      if (failed(entry))
        return failure();
      program.workspace.push_back(std::move(*entry));
    }
  return program;
}

LogicalResult readSharedBytes(ModuleOp lowered, ProgramInterface &program) {
  for (KernelInterface &kernel : program.kernels) {
    auto function = lowered.lookupSymbol<LLVM::LLVMFuncOp>(kernel.entry);
    if (!function)
      return lowered.emitError("kernel '") << kernel.entry << "' was lost in the lowering";
    auto bytes = function->getAttrOfType<IntegerAttr>(tile::kSharedBytesAttrName);
    if (!bytes)
      return function.emitError("has no '") << tile::kSharedBytesAttrName << "'";
    kernel.sharedBytes = bytes.getInt();
  }
  return success();
}

} // namespace attnc
