// The tables of NVIDIA functions the runtime calls, filled by dlopen when first asked for. The .def
// files beside this header are the complete lists. Calling through them is up to the users; what a
// result code means is decided in StatusMapping.
#ifndef ATTNC_RUNTIME_CUDAAPIS_H
#define ATTNC_RUNTIME_CUDAAPIS_H

#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/CudaTypes.h"
#include "attnc/Runtime/Status.h"

#include <string>

namespace attnc::rt {

namespace cuda {

/// libcuda, the driver.
struct DriverApi {
#define ATTNC_DRIVER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "attnc/Runtime/DriverApi.def"
  std::string path;
  /// CUDA version the driver supports: 1000·major + 10·minor.
  int version = 0;
};

/// NVML, the management library that comes with the driver.
struct NvmlApi {
#define ATTNC_NVML_TEXT(name, symbol, parameters) const char *(*name)parameters = nullptr;
#define ATTNC_NVML(name, symbol, parameters) NvmlReturn(*name) parameters = nullptr;
#include "attnc/Runtime/NvmlApi.def"
  std::string path;
};

/// NVRTC, CUDA C++ to PTX and cubin.
struct NvrtcApi {
#define ATTNC_NVRTC_TEXT(name, symbol, parameters) const char *(*name)parameters = nullptr;
#define ATTNC_NVRTC(name, symbol, parameters) NvrtcResultCode(*name) parameters = nullptr;
#include "attnc/Runtime/NvrtcApi.def"
  std::string path;
  int major = 0, minor = 0;
};

/// nvJitLink, PTX to cubin.
struct NvJitLinkApi {
#define ATTNC_NVJITLINK(name, symbol, parameters) NvJitLinkResultCode(*name) parameters = nullptr;
#include "attnc/Runtime/NvJitLinkApi.def"
  std::string path;
  unsigned major = 0, minor = 0;
};

} // namespace cuda

/// Open the libraries of \p locations. \returns Environment: what is missing and where it was
/// looked for, or which function a too old library lacks.
Result<cuda::DriverApi> loadDriver(const CudaLocations &locations);
Result<cuda::NvmlApi> loadNvml(const CudaLocations &locations);
Result<cuda::NvrtcApi> loadNvrtc(const CudaLocations &locations);
Result<cuda::NvJitLinkApi> loadNvJitLink(const CudaLocations &locations);

/// The same for this process's environment, each loaded once and kept; thread-safe. The driver is
/// initialised (cuInit) as well.
Result<const cuda::DriverApi *> driverApi();
Result<const cuda::NvmlApi *> nvmlApi();
Result<const cuda::NvrtcApi *> nvrtcApi();
Result<const cuda::NvJitLinkApi *> nvJitLinkApi();

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_CUDAAPIS_H
