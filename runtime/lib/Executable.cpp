// Chooses and loads the code of a package for a device.
#include "attnc/Runtime/Executable.h"

#include "StatusFormat.h"
#include "StatusMapping.h"
#include "attnc/Runtime/Assemble.h"

#include <cstdlib>
#include <iterator>

namespace attnc::rt {
namespace {

struct Architecture {
  int major = 0, minor = 0;
  char suffix = 0;
};

/// "sm_90a" → 9, 0, 'a'. The last digit is the minor version. Takes valid names only.
Architecture parseArchitecture(std::string_view name) {
  Architecture result;
  name.remove_prefix(3);
  if (name.back() == 'a' || name.back() == 'f') {
    result.suffix = name.back();
    name.remove_suffix(1);
  }
  const int number = std::atoi(std::string(name).c_str());
  result.major = number / 10;
  result.minor = number % 10;
  return result;
}

} // namespace

Result<LoadPath> chooseLoadPath(std::string_view packageTarget, std::string_view deviceSm,
                                bool hasCubin, bool hasPtx) {
  if (!isTargetName(packageTarget) || !isTargetName(deviceSm))
    return invalidArgument("'{}' or '{}' is not of the form sm_80 or sm_90a", packageTarget,
                           deviceSm);
  const Architecture code = parseArchitecture(packageTarget);
  const Architecture device = parseArchitecture(deviceSm);
  const bool same = code.major == device.major && code.minor == device.minor;
  const bool sameMajor = code.major == device.major && code.minor <= device.minor;
  const bool later = code.major < device.major || sameMajor;
  // 'a' code belongs to one version alone, 'f' code to one family (same major).
  const bool cubinRuns = code.suffix == 'a' ? same : sameMajor;
  const bool ptxRuns = code.suffix == 'a' ? same : code.suffix == 'f' ? sameMajor : later;
  if (hasCubin && cubinRuns)
    return LoadPath::Cubin;
  if (hasPtx && ptxRuns)
    return LoadPath::AssemblePtx;
  if (ptxRuns)
    return unsupported("the package has only a cubin for {}, which does not run on {}; compile for "
                       "{}, or write PTX into the package",
                       packageTarget, deviceSm, deviceSm);
  return unsupported("the package was compiled for {}; this device is {}: compile the spec with "
                     "--target {}",
                     packageTarget, deviceSm, deviceSm);
}

Result<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<Device> device,
                                                     const Package &package) {
  const std::string &sm = device->properties().sm;
  Result<LoadPath> path = chooseLoadPath(package.target, sm, !package.blob("cubin").empty(),
                                         !package.blob("ptx").empty());
  if (!path)
    return path.status().withContext(package.name);

  std::shared_ptr<Executable> executable(new Executable(device));
  std::string image;
  if (*path == LoadPath::Cubin) {
    image = std::string(package.blob("cubin"));
    executable->loadedFrom = "cubin for " + package.target;
  } else {
    AssembleOptions options;
    options.name = package.name;
    // PTX for sm_90a assembles for sm_90a only.
    const std::string target = package.target.back() == 'a' ? package.target : sm;
    Result<AssembleResult> assembled = assemble(package.blob("ptx"), target, options);
    if (!assembled)
      return assembled.status();
    image = std::move(assembled->cubin);
    executable->loadedFrom =
        fmt::format("PTX for {} assembled for {} by {} {}", package.target, target,
                    assemblerName(assembled->assembler.kind), assembled->assembler.version);
  }
  Result<std::shared_ptr<Module>> module = Module::load(device, image, package.name);
  if (!module)
    return module.status();
  for (const KernelDesc &desc : package.kernels) {
    Result<Kernel> kernel = (*module)->kernel(desc.entry, desc.sharedBytes);
    if (!kernel)
      return kernel.status().withContext(package.name);
    executable->functions.push_back(std::move(*kernel));
  }
  return executable;
}

Status Executable::begin() {
  const cuda::DriverApi &api = owner->api();
  const cuda::CUresult result = api.cuCtxPushCurrent(owner->context());
  if (result == cuda::success)
    return {};
  return driverStatus(api, result, "cuCtxPushCurrent", {{}, owner->properties().sm});
}

Status Executable::launch(const LaunchRequest &request) {
  if (request.kernel >= functions.size())
    return makeError(StatusCode::Internal, "kernel {} of {}", request.kernel, functions.size());
  return functions[request.kernel].launch(request.grid, request.block, request.sharedBytes,
                                          request.params,
                                          static_cast<cuda::CUstream>(request.stream));
}

static int tensorMapType(DataType dtype) {
  switch (dtype) {
  case DataType::BF16:
    return cuda::tensorMapBF16;
  case DataType::F16:
    return cuda::tensorMapF16;
  case DataType::F32:
    return cuda::tensorMapF32;
  default:
    return cuda::tensorMapU8; // The package's check leaves only types of one byte.
  }
}

Status Executable::encodeTensorMap(const TensorMapRequest &request, TensorMap &map) {
  const cuda::DriverApi &api = owner->api();
  if (!api.cuTensorMapEncodeTiled)
    return unsupported("this driver has no cuTensorMapEncodeTiled; kernels for sm_90a need a driver "
                       "of CUDA 12.0 or later");
  // CUtensorMapSwizzle: 0 none, 1 for 32 bytes, 2 for 64, 3 for 128.
  const int swizzle = request.swizzle == 128 ? 3 : request.swizzle / 32;
  constexpr std::uint32_t ones[] = {1, 1, 1, 1, 1, 1};
  static_assert(std::size(ones) == TensorView::maxRank);
  const cuda::CUresult result = api.cuTensorMapEncodeTiled(
      map.bytes.data(), tensorMapType(request.dtype), std::uint32_t(request.rank),
      reinterpret_cast<void *>(request.address), request.dims.data(), request.strideBytes.data(),
      request.box.data(), ones, cuda::tensorMapNoInterleave, swizzle, cuda::tensorMapPromote128,
      cuda::tensorMapFillZero);
  return driverStatus(api, result, "cuTensorMapEncodeTiled", {{}, owner->properties().sm});
}

void Executable::end() {
  cuda::CUcontext popped = nullptr;
  owner->api().cuCtxPopCurrent(&popped);
}

} // namespace attnc::rt
