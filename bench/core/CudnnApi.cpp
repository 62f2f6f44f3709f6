// Loading cuDNN and naming its failures.
#include "CudnnApi.h"

#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/DynamicLibrary.h"

#include <fmt/format.h>

namespace attnc::bench::cudnn {

static Result<Api> open() {
  rt::LibraryRequest request;
  request.what = "cuDNN";
  request.fileNames = {"libcudnn.so.9", "libcudnn.so"};
  request.overrideVariable = "ATTNC_LIBCUDNN";
  request.advice = "pip install nvidia-cudnn-cu13, or set ATTNC_LIBCUDNN to libcudnn.so.9";
  Result<rt::DynamicLibrary> library = rt::DynamicLibrary::open(request, rt::CudaLocations::find());
  if (!library.ok())
    return library.status();
  Api api;
  api.path = library->path();
  std::string lacking;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library->symbol(name));
    if (!function)
      lacking += std::string(lacking.empty() ? "" : ", ") + name;
  };
  find(api.getVersion, "cudnnGetVersion");
  find(api.getErrorString, "cudnnGetErrorString");
  find(api.getLastErrorString, "cudnnGetLastErrorString");
  find(api.create, "cudnnCreate");
  find(api.destroy, "cudnnDestroy");
  find(api.setStream, "cudnnSetStream");
  find(api.createDescriptor, "cudnnBackendCreateDescriptor");
  find(api.destroyDescriptor, "cudnnBackendDestroyDescriptor");
  find(api.finalize, "cudnnBackendFinalize");
  find(api.setAttribute, "cudnnBackendSetAttribute");
  find(api.getAttribute, "cudnnBackendGetAttribute");
  find(api.execute, "cudnnBackendExecute");
  if (!lacking.empty())
    return Status(StatusCode::Environment,
                  fmt::format("{} lacks {}; cuDNN 9 is needed", api.path, lacking));
  if (api.getVersion() < 90000)
    return Status(StatusCode::Environment,
                  fmt::format("{} is version {}; cuDNN 9 is needed", api.path, api.getVersion()));
  return api;
}

Result<const Api *> load() {
  static const Result<Api> api = open();
  if (!api.ok())
    return api.status();
  return &api.value();
}

Status failure(const Api &api, const char *what, int code) {
  char last[512] = "";
  api.getLastErrorString(last, sizeof last);
  const StatusCode kind = code >= 3000 && code < 4000    ? StatusCode::Unsupported
                          : code == 4003 || code == 4004 ? StatusCode::OutOfMemory
                                                         : StatusCode::Internal;
  return {kind, fmt::format("cuDNN {}: {}: {}{}{}", api.getVersion(), what,
                            api.getErrorString(code), *last ? ": " : "", last)};
}

} // namespace attnc::bench::cudnn
