// CUPTI's callback interface, the few declarations that are needed of it by their documented ABI.
#include "KernelProbe.h"

#include "Families.h"

#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/DynamicLibrary.h"

#include <cstdint>
#include <vector>

namespace attnc::bench {

namespace {

using Subscriber = struct SubscriberHandle *;
constexpr int domainDriver = 1, siteEnter = 0;
// CUPTI_DRIVER_TRACE_CBID_*: launches, and their variants for the per-thread default stream.
constexpr std::uint32_t launchKernelId = 307, launchKernelPtsz = 442, launchCooperative = 477,
                        launchKernelEx = 652, launchKernelExPtsz = 653;

struct CallbackData {
  int site;
  const char *functionName;
  const void *functionParams;
  void *functionReturnValue;
  const char *symbolName;
  // More follows that is not read.
};
struct LaunchParams { // cuLaunchKernel_params
  void *function;
  unsigned grid[3], block[3];
};
struct LaunchConfig { // CUlaunchConfig
  unsigned grid[3], block[3];
};
struct LaunchExParams { // cuLaunchKernelEx_params
  const LaunchConfig *config;
};

struct Cupti {
  int (*subscribe)(Subscriber *, void (*)(void *, int, std::uint32_t, const CallbackData *),
                   void *) = nullptr;
  int (*unsubscribe)(Subscriber) = nullptr;
  int (*enableCallback)(std::uint32_t, Subscriber, int, std::uint32_t) = nullptr;
  std::string missing;
};

const Cupti &cupti() {
  static const Cupti table = [] {
    Cupti out;
    rt::LibraryRequest request;
    request.what = "CUPTI";
    request.fileNames = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    request.overrideVariable = "ATTNC_LIBCUPTI";
    request.advice = "pip install nvidia-cuda-cupti";
    Result<rt::DynamicLibrary> library =
        rt::DynamicLibrary::open(request, rt::CudaLocations::find());
    if (!library.ok()) {
      out.missing = library.status().message();
      return out;
    }
    out.subscribe = reinterpret_cast<decltype(out.subscribe)>(library->symbol("cuptiSubscribe"));
    out.unsubscribe =
        reinterpret_cast<decltype(out.unsubscribe)>(library->symbol("cuptiUnsubscribe"));
    out.enableCallback =
        reinterpret_cast<decltype(out.enableCallback)>(library->symbol("cuptiEnableCallback"));
    if (!out.subscribe || !out.unsubscribe || !out.enableCallback)
      out.missing = library->path() + " lacks the callback interface";
    return out;
  }();
  return table;
}

struct Recording {
  Json kernels = Json::array();
  std::vector<std::string> names;
};

void onCallback(void *user, int domain, std::uint32_t id, const CallbackData *data) {
  if (domain != domainDriver || data->site != siteEnter || !data->symbolName)
    return;
  auto &recording = *static_cast<Recording *>(user);
  const unsigned *grid, *block;
  if (id == launchKernelEx || id == launchKernelExPtsz) {
    const LaunchConfig *config = static_cast<const LaunchExParams *>(data->functionParams)->config;
    grid = config->grid;
    block = config->block;
  } else {
    const auto *params = static_cast<const LaunchParams *>(data->functionParams);
    grid = params->grid;
    block = params->block;
  }
  recording.names.push_back(data->symbolName);
  recording.kernels.push_back({{"name", demangle(data->symbolName)},
                               {"grid", {grid[0], grid[1], grid[2]}},
                               {"block", {block[0], block[1], block[2]}}});
}

} // namespace

Json probeKernels(const std::string &intended, const std::function<Status()> &body) {
  Json out = {{"kernels", Json::array()}, {"observed", "unprobed"}, {"intended", intended}};
  const Cupti &api = cupti();
  const auto without = [&](const std::string &why) {
    out["why_unprobed"] = why;
    (void)body();
    return out;
  };
  if (!api.missing.empty())
    return without(api.missing);
  Recording recording;
  Subscriber subscriber = nullptr;
  if (const int code = api.subscribe(&subscriber, onCallback, &recording); code != 0)
    return without("cuptiSubscribe failed with code " + std::to_string(code));
  for (std::uint32_t id :
       {launchKernelId, launchKernelPtsz, launchCooperative, launchKernelEx, launchKernelExPtsz})
    api.enableCallback(1, subscriber, domainDriver, id);
  (void)body();
  api.unsubscribe(subscriber);
  out["kernels"] = recording.kernels;
  // No launch seen though there was one: the callbacks did not work, which is not "unknown".
  if (recording.names.empty())
    out["why_unprobed"] = "CUPTI reported no launch";
  else
    out["observed"] = launchFamily(recording.names);
  return out;
}

} // namespace attnc::bench
