// Fills the function tables.
#include "attnc/Runtime/CudaApis.h"

#include "StatusFormat.h"
#include "StatusMapping.h"
#include "attnc/Runtime/DynamicLibrary.h"

namespace attnc::rt {
namespace {

/// Looks a function up; the first one missing is kept for the message.
class SymbolBinder {
public:
  explicit SymbolBinder(const DynamicLibrary &library) : library(library) {}

  template <typename Function> void bind(Function &function, const char *name) {
    function = reinterpret_cast<Function>(library.symbol(name));
    if (!function && missing.empty())
      missing = name;
  }

  template <typename Function> void bindOptional(Function &function, const char *name) {
    function = reinterpret_cast<Function>(library.symbol(name));
  }

  /// Tries "name", then "__name_13_0" and "__name_12_0".
  template <typename Function> void bindVersioned(Function &function, const char *name) {
    function = reinterpret_cast<Function>(library.symbol(name));
    for (const char *version : {"_13_0", "_12_0"})
      if (!function)
        function = reinterpret_cast<Function>(
            library.symbol((std::string("__") + name + version).c_str()));
    if (!function && missing.empty())
      missing = name;
  }

  Status status(const char *what) const {
    if (missing.empty())
      return {};
    return environmentError("{}: '{}' has no function {}; it is too old for this runtime", what,
                            library.path(), missing);
  }

private:
  const DynamicLibrary &library;
  std::string missing;
};

/// One table for the process. A failure is kept as well: looking again costs dlopen calls, and a
/// process does not gain a driver while it runs.
template <typename Api> Result<const Api *> keep(const Result<Api> &loaded) {
  if (!loaded)
    return loaded.status();
  return &loaded.value();
}

} // namespace

Result<cuda::DriverApi> loadDriver(const CudaLocations &locations) {
  using namespace cuda;
  LibraryRequest request;
  request.what = "the NVIDIA driver library";
  request.fileNames = {"libcuda.so.1"};
  request.overrideVariable = "ATTNC_LIBCUDA";
  request.inToolkit = false;
  request.advice = "install an NVIDIA driver to run on a GPU (nothing else needs it)";
  Result<DynamicLibrary> library = DynamicLibrary::open(request, locations);
  if (!library)
    return library.status();
  DriverApi api;
  api.path = library->path();
  SymbolBinder binder(*library);
#define ATTNC_DRIVER(name, symbol, parameters) binder.bind(api.name, symbol);
#define ATTNC_DRIVER_OPTIONAL(name, symbol, parameters) binder.bindOptional(api.name, symbol);
#include "attnc/Runtime/DriverApi.def"
  if (Status status = binder.status("the NVIDIA driver library"); !status.ok())
    return status;
  // Answers before cuInit, so the version is known even where there is no device.
  if (CUresult result = api.cuDriverGetVersion(&api.version); result != success)
    return driverStatus(api, result, "cuDriverGetVersion");
  return api;
}

Result<cuda::NvmlApi> loadNvml(const CudaLocations &locations) {
  using namespace cuda;
  LibraryRequest request;
  request.what = "NVML";
  request.fileNames = {"libnvidia-ml.so.1"};
  request.overrideVariable = "ATTNC_NVML";
  request.inToolkit = false;
  request.advice = "it comes with the NVIDIA driver";
  Result<DynamicLibrary> library = DynamicLibrary::open(request, locations);
  if (!library)
    return library.status();
  NvmlApi api;
  api.path = library->path();
  SymbolBinder binder(*library);
#define ATTNC_NVML_TEXT(name, symbol, parameters) binder.bind(api.name, symbol);
#define ATTNC_NVML(name, symbol, parameters) binder.bind(api.name, symbol);
#include "attnc/Runtime/NvmlApi.def"
  if (Status status = binder.status("NVML"); !status.ok())
    return status;
  return api;
}

Result<cuda::NvrtcApi> loadNvrtc(const CudaLocations &locations) {
  using namespace cuda;
  LibraryRequest request;
  request.what = "NVRTC";
  request.fileNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  request.overrideVariable = "ATTNC_NVRTC";
  request.advice = "install the CUDA toolkit or the wheel nvidia-cuda-nvrtc and name its directory "
                   "in ATTNC_CUDA_PATH";
  Result<DynamicLibrary> library = DynamicLibrary::open(request, locations);
  if (!library)
    return library.status();
  NvrtcApi api;
  api.path = library->path();
  SymbolBinder binder(*library);
#define ATTNC_NVRTC_TEXT(name, symbol, parameters) binder.bind(api.name, symbol);
#define ATTNC_NVRTC(name, symbol, parameters) binder.bind(api.name, symbol);
#include "attnc/Runtime/NvrtcApi.def"
  if (Status status = binder.status("NVRTC"); !status.ok())
    return status;
  if (NvrtcResultCode result = api.nvrtcVersion(&api.major, &api.minor); result != 0)
    return nvrtcStatus(api, result, "nvrtcVersion");
  return api;
}

Result<cuda::NvJitLinkApi> loadNvJitLink(const CudaLocations &locations) {
  using namespace cuda;
  LibraryRequest request;
  request.what = "nvJitLink";
  request.fileNames = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"};
  request.overrideVariable = "ATTNC_NVJITLINK";
  request.advice =
      "install the CUDA toolkit or the wheel nvidia-nvjitlink and name its directory in "
      "ATTNC_CUDA_PATH";
  Result<DynamicLibrary> library = DynamicLibrary::open(request, locations);
  if (!library)
    return library.status();
  NvJitLinkApi api;
  api.path = library->path();
  SymbolBinder binder(*library);
#define ATTNC_NVJITLINK(name, symbol, parameters) binder.bindVersioned(api.name, symbol);
#include "attnc/Runtime/NvJitLinkApi.def"
  if (Status status = binder.status("nvJitLink"); !status.ok())
    return status;
  if (NvJitLinkResultCode result = api.nvJitLinkVersion(&api.major, &api.minor); result != 0)
    return nvJitLinkStatus(result, "nvJitLinkVersion");
  return api;
}

Result<const cuda::DriverApi *> driverApi() {
  static const Result<cuda::DriverApi> loaded = [] {
    Result<cuda::DriverApi> api = loadDriver(CudaLocations::find());
    if (api)
      if (cuda::CUresult result = api->cuInit(0); result != cuda::success)
        return Result<cuda::DriverApi>(driverStatus(*api, result, "cuInit"));
    return api;
  }();
  return keep(loaded);
}

Result<const cuda::NvmlApi *> nvmlApi() {
  static const Result<cuda::NvmlApi> loaded = [] {
    Result<cuda::NvmlApi> api = loadNvml(CudaLocations::find());
    if (api)
      if (cuda::NvmlReturn result = api->nvmlInit(); result != 0)
        return Result<cuda::NvmlApi>(nvmlStatus(*api, result, "nvmlInit"));
    return api;
  }();
  return keep(loaded);
}

Result<const cuda::NvrtcApi *> nvrtcApi() {
  static const Result<cuda::NvrtcApi> loaded = loadNvrtc(CudaLocations::find());
  return keep(loaded);
}

Result<const cuda::NvJitLinkApi *> nvJitLinkApi() {
  static const Result<cuda::NvJitLinkApi> loaded = loadNvJitLink(CudaLocations::find());
  return keep(loaded);
}

} // namespace attnc::rt
