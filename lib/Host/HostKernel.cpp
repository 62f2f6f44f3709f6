// HostProgram: what the kernels need, the JIT that holds their code, and the loop that runs them.
#include "attnc/Host/HostKernel.h"

#include "HostModule.h"
#include "LengthCheck.h"
#include "SizeExpr.h"

#include "attnc/Dialect/Tile/TileDialect.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <thread>

using namespace mlir;

namespace attnc {
namespace {

/// One kernel argument; a scalar has rank −1.
struct Argument {
  std::string name;
  DType dtype = DType::F32;
  int64_t rank = -1;
  /// Of a tensor: extents that the code was compiled for, −1 where any will do.
  std::vector<int64_t> extents;
  bool unitInner = false;
};

struct Kernel {
  std::string name;
  SizeExpr grid;
  std::vector<Argument> arguments;
  void (*entry)(void **, int32_t) = nullptr;
};

struct Workspace {
  std::string name;
  DType dtype = DType::F32;
  std::vector<SizeExpr> shape;
};

std::optional<DType> dtypeOf(Type type) {
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  // A bool is stored in a byte.
  if (type.isInteger(1) || type.isInteger(8))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (isa<Float8E4M3FNType>(type))
    return DType::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return DType::F8E5M2;
  return std::nullopt;
}

LogicalResult describeArgument(tile::KernelOp kernel, unsigned index, Argument &argument) {
  Type type = kernel.getArgumentTypes()[index];
  argument.name = kernel.getArgName(index).str();
  auto memref = dyn_cast<MemRefType>(type);
  std::optional<DType> dtype = dtypeOf(memref ? memref.getElementType() : type);
  if (argument.name.empty() || !dtype ||
      (!memref && *dtype != DType::I32 && *dtype != DType::F32))
    return kernel.emitOpError("host: argument ")
           << index << " has type " << type << (argument.name.empty() ? " and no tile.name" : "")
           << "; an argument is a named memref of a float or integer type, an i32 or an f32";
  argument.dtype = *dtype;
  if (!memref)
    return success();
  argument.rank = memref.getRank();
  for (int64_t extent : memref.getShape())
    argument.extents.push_back(ShapedType::isDynamic(extent) ? -1 : extent);
  argument.unitInner = memref.getRank() > 0 && memref.isLastDimUnitStride();
  return success();
}

LogicalResult describeKernel(tile::KernelOp op, Kernel &kernel) {
  kernel.name = op.getSymName().str();
  std::string error;
  if (!SizeExpr::parse(op.getGrid(), kernel.grid, error))
    return op.emitOpError("host: grid: ") << error;
  for (unsigned i = 0, e = op.getArgumentTypes().size(); i < e; ++i)
    if (failed(describeArgument(op, i, kernel.arguments.emplace_back())))
      return failure();
  return success();
}

LogicalResult describeWorkspace(ModuleOp module, std::vector<Workspace> &result) {
  auto list = module->getAttrOfType<ArrayAttr>(tile::kWorkspaceAttrName);
  if (!list)
    return success();
  for (Attribute element : list) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    auto dtype = entry ? entry.getAs<StringAttr>("dtype") : StringAttr();
    auto shape = entry ? entry.getAs<ArrayAttr>("shape") : ArrayAttr();
    Workspace workspace;
    if (!name || !dtype || !shape || !parseDType(dtype.getValue().str(), workspace.dtype))
      return module.emitError("host: workspace entry ")
             << element << "; an entry is {name = \"…\", dtype = \"f32\"…, shape = […]}";
    workspace.name = name.getValue().str();
    std::string error;
    for (Attribute extent : shape)
      if (!SizeExpr::parse(extent, workspace.shape.emplace_back(), error))
        return module.emitError("host: workspace '") << workspace.name << "': " << error;
    result.push_back(std::move(workspace));
  }
  return success();
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
  return text + "]";
}

/// What a kernel receives for its arguments: memref descriptors as 64-bit words, scalars as the
/// first bytes of a word.
class BoundArguments {
public:
  void addTensor(const HostTensor &tensor) {
    std::vector<int64_t> &words = storage.emplace_back();
    auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor.data()));
    words = {address, address, 0};
    words.insert(words.end(), tensor.shape.begin(), tensor.shape.end());
    words.insert(words.end(), tensor.strides.begin(), tensor.strides.end());
  }
  template <typename T> void addScalar(T value) {
    std::memcpy(storage.emplace_back(1, 0).data(), &value, sizeof(T));
  }
  /// Pointers to the arguments, in order; valid while this object does not change.
  std::vector<void *> pointers() {
    std::vector<void *> result;
    for (std::vector<int64_t> &words : storage)
      result.push_back(words.data());
    return result;
  }

private:
  std::vector<std::vector<int64_t>> storage;
};

class JitProgram final : public HostProgram {
public:
  std::string run(const ProblemSizes &sizes, std::map<std::string, HostTensor> &tensors,
                  const std::map<std::string, double> &scalars, unsigned threads) override;

  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Kernel> kernels;
  std::vector<Workspace> workspace;

private:
  std::string allocate(const ProblemSizes &sizes, std::map<std::string, HostTensor> &result) const;
};

std::string bindTensor(const Argument &argument, const HostTensor &tensor, BoundArguments &bound) {
  std::string what = "tensor '" + argument.name + "'";
  if (tensor.dtype != argument.dtype)
    return what + " has type " + dtypeName(tensor.dtype) + "; the kernel was compiled for " +
           dtypeName(argument.dtype);
  if (tensor.rank() != argument.rank ||
      static_cast<int64_t>(tensor.strides.size()) != argument.rank)
    return what + " has shape " + shapeText(tensor.shape) + "; the kernel takes shape " +
           shapeText(argument.extents);
  for (int64_t dim = 0; dim < argument.rank; ++dim)
    if (argument.extents[dim] >= 0 && argument.extents[dim] != tensor.shape[dim])
      return what + " has shape " + shapeText(tensor.shape) + "; the kernel was compiled for " +
             shapeText(argument.extents);
  if (argument.unitInner && tensor.strides.back() != 1 && tensor.shape.back() != 1)
    return what + " has inner stride " + std::to_string(tensor.strides.back()) +
           "; the kernel needs 1: copy the tensor to a contiguous last dimension";
  if (!tensor.storage)
    return what + " has no storage";
  bound.addTensor(tensor);
  return "";
}

std::string bindScalar(const Argument &argument, const ProblemSizes &sizes,
                       const std::map<std::string, double> &scalars, BoundArguments &bound) {
  auto value = scalars.find(argument.name);
  auto size = sizes.find(argument.name);
  if (argument.dtype == DType::F32) {
    if (value == scalars.end())
      return "scalar '" + argument.name + "' (f32) is not given";
    bound.addScalar(static_cast<float>(value->second));
    return "";
  }
  if (size == sizes.end() && value == scalars.end())
    return "scalar '" + argument.name + "' (i32) is not given";
  double wide = size != sizes.end() ? static_cast<double>(size->second) : value->second;
  if (!(wide >= std::numeric_limits<int32_t>::min() && wide <= std::numeric_limits<int32_t>::max()))
    return "scalar '" + argument.name + "' exceeds the 32 bits that kernels count with";
  bound.addScalar(static_cast<int32_t>(wide));
  return "";
}

std::string JitProgram::allocate(const ProblemSizes &sizes,
                                 std::map<std::string, HostTensor> &result) const {
  for (const Workspace &entry : workspace) {
    std::vector<int64_t> shape;
    std::string error;
    int64_t bytes = dtypeSize(entry.dtype);
    for (const SizeExpr &extent : entry.shape) {
      int64_t value = 0;
      if (!extent.evaluate(sizes, value, error))
        return "workspace '" + entry.name + "': " + error;
      if (value < 0 || llvm::MulOverflow(bytes, value, bytes))
        return "workspace '" + entry.name + "' has an extent of " + std::to_string(value) +
               ", with which its size is no 64-bit number of bytes";
      shape.push_back(value);
    }
    try {
      HostTensor tensor = HostTensor::empty(entry.dtype, shape);
      // A kernel that reads what no kernel wrote then shows: all ones are NaN in every float type.
      std::fill(tensor.storage->begin(), tensor.storage->end(), uint8_t(0xFF));
      result[entry.name] = std::move(tensor);
    } catch (const std::exception &) {
      return "out of memory: workspace '" + entry.name + "' needs " + std::to_string(bytes) +
             " bytes";
    }
  }
  return "";
}

/// All programs of a grid on `threads` threads, one after the other as threads become free.
void runGrid(const Kernel &kernel, std::vector<void *> pointers, int64_t programs,
             unsigned threads) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t id = next++; id < programs; id = next++)
      kernel.entry(pointers.data(), static_cast<int32_t>(id));
  };
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<int64_t>(threads, programs));
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
}

std::string JitProgram::run(const ProblemSizes &sizes, std::map<std::string, HostTensor> &tensors,
                            const std::map<std::string, double> &scalars, unsigned threads) {
  if (std::string error = checkLengths(tensors); !error.empty())
    return error;
  std::map<std::string, HostTensor> scratch;
  if (std::string error = allocate(sizes, scratch); !error.empty())
    return error;
  for (const Kernel &kernel : kernels) {
    std::string where = "kernel '" + kernel.name + "': ", error;
    int64_t programs = 0;
    if (!kernel.grid.evaluate(sizes, programs, error))
      return where + "grid: " + error;
    if (programs < 0 || programs > std::numeric_limits<int32_t>::max())
      return where + "a grid of " + std::to_string(programs) + " programs; allowed: 0 to 2147483647";
    if (programs == 0)
      continue;
    BoundArguments bound;
    for (const Argument &argument : kernel.arguments) {
      if (argument.rank < 0) {
        error = bindScalar(argument, sizes, scalars, bound);
      } else {
        bool isScratch = scratch.count(argument.name) != 0;
        auto &from = isScratch ? scratch : tensors;
        auto found = from.find(argument.name);
        if (found == from.end())
          error = "tensor '" + argument.name + "' (" + dtypeName(argument.dtype) + ", shape " +
                  shapeText(argument.extents) + ") is not given";
        else
          error = bindTensor(argument, found->second, bound);
      }
      if (!error.empty())
        return where + error;
    }
    runGrid(kernel, bound.pointers(), programs, threads);
  }
  return "";
}

} // namespace

FailureOr<std::unique_ptr<HostProgram>> HostProgram::compile(ModuleOp module) {
  Location loc = module.getLoc();
  auto program = std::make_unique<JitProgram>();
  for (auto kernel : module.getOps<tile::KernelOp>())
    if (failed(describeKernel(kernel, program->kernels.emplace_back())))
      return failure();
  if (program->kernels.empty())
    return module.emitError("host: the module has no tile.kernel; run convert-attn-to-tile first");
  if (failed(describeWorkspace(module, program->workspace)))
    return failure();

  FailureOr<llvm::orc::JITTargetMachineBuilder> machine = detectHost(module);
  if (failed(machine))
    return failure();
  FailureOr<HostModule> host = buildHostModule(module);
  if (failed(host))
    return failure();
  auto report = [&](llvm::Error error) {
    return emitError(loc, "host: JIT: ") << llvm::toString(std::move(error));
  };
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit)
    return report(jit.takeError());
  program->jit = std::move(*jit);
  llvm::orc::ThreadSafeModule code(std::move(host->module), std::move(host->context));
  if (llvm::Error error = program->jit->addIRModule(std::move(code)))
    return report(std::move(error));
  for (Kernel &kernel : program->kernels) {
    auto entry = program->jit->lookup((kHostEntryPrefix + kernel.name).str());
    if (!entry)
      return report(entry.takeError());
    kernel.entry = entry->toPtr<void (*)(void **, int32_t)>();
  }
  return std::unique_ptr<HostProgram>(std::move(program));
}

} // namespace attnc
