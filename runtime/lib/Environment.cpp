// Collects what was found, as JSON.
#include "attnc/Runtime/Environment.h"

#include "JsonText.h"
#include "StatusFormat.h"
#include "attnc/Runtime/Assemble.h"
#include "attnc/Runtime/CudaApis.h"
#include "attnc/Runtime/Device.h"
#include "attnc/Runtime/DynamicLibrary.h"

namespace attnc::rt {
namespace {

Json missing(const Status &status) { return {{"found", false}, {"reason", status.message()}}; }

std::string cudaVersion(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Json describeDriver(const CudaLocations &locations) {
  Result<cuda::DriverApi> api = loadDriver(locations);
  if (!api)
    return missing(api.status());
  return {{"found", true}, {"path", api->path}, {"cuda_version", cudaVersion(api->version)}};
}

Json describeGpus(Json &driver) {
  Json gpus = Json::array();
  Result<int> count = Device::count();
  if (!count) {
    driver["gpu_reason"] = count.status().message();
    return gpus;
  }
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    Result<std::shared_ptr<Device>> device = Device::open(ordinal);
    if (!device) {
      gpus.push_back({{"ordinal", ordinal}, {"reason", device.status().message()}});
      continue;
    }
    const DeviceProperties &props = (*device)->properties();
    gpus.push_back({{"ordinal", ordinal},
                    {"name", props.name},
                    {"sm", props.sm},
                    {"multiprocessors", props.multiprocessors},
                    {"shared_optin_bytes", props.sharedOptinBytes},
                    {"l2_bytes", props.l2Bytes},
                    {"memory_bytes", props.totalBytes}});
  }
  return gpus;
}

Json describeNvml() {
  Result<const cuda::NvmlApi *> api = nvmlApi();
  if (!api)
    return missing(api.status());
  char version[96] = {};
  (*api)->nvmlSystemGetDriverVersion(version, sizeof version - 1);
  return {{"found", true}, {"path", (*api)->path}, {"version", version}};
}

Json describeCudnn(const CudaLocations &locations) {
  LibraryRequest request;
  request.what = "cuDNN";
  request.fileNames = {"libcudnn.so.9", "libcudnn.so"};
  request.overrideVariable = "ATTNC_CUDNN";
  request.advice = "only the bench compares with it";
  Result<DynamicLibrary> library = DynamicLibrary::open(request, locations);
  if (!library)
    return missing(library.status());
  Json json = {{"found", true}, {"path", library->path()}};
  if (auto getVersion = reinterpret_cast<std::size_t (*)()>(library->symbol("cudnnGetVersion"))) {
    // 9.13.0 is 91300.
    const std::size_t version = getVersion();
    json["version"] =
        fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  }
  return json;
}

} // namespace

const char *runtimeVersion() { return ATTNC_RT_VERSION; }

std::string environmentJson() {
  const CudaLocations locations = CudaLocations::find();
  Json driver = describeDriver(locations);
  Json gpus = describeGpus(driver);
  Json json = {{"runtime", runtimeVersion()},       {"driver", std::move(driver)},
               {"gpus", std::move(gpus)},           {"nvml", describeNvml()},
               {"cudnn", describeCudnn(locations)}, {"library_dirs", locations.libraryDirs},
               {"remarks", locations.remarks}};
  if (Result<const cuda::NvrtcApi *> api = nvrtcApi())
    json["nvrtc"] = {{"found", true},
                     {"path", (*api)->path},
                     {"version", fmt::format("{}.{}", (*api)->major, (*api)->minor)}};
  else
    json["nvrtc"] = missing(api.status());
  if (Result<const cuda::NvJitLinkApi *> api = nvJitLinkApi())
    json["nvjitlink"] = {{"found", true},
                         {"path", (*api)->path},
                         {"version", fmt::format("{}.{}", (*api)->major, (*api)->minor)}};
  else
    json["nvjitlink"] = missing(api.status());
  Json assemblers = Json::array();
  const Result<std::string> ptxas = locations.findProgram("ptxas", "ATTNC_PTXAS");
  json["ptxas"] = missing(ptxas ? environmentError("'{}' does not run", *ptxas) : ptxas.status());
  for (const AssemblerInfo &info : availableAssemblers()) {
    assemblers.push_back(assemblerName(info.kind));
    if (info.kind == Assembler::Ptxas)
      json["ptxas"] = {{"found", true}, {"path", info.path}, {"version", info.version}};
  }
  json["assemblers"] = std::move(assemblers);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace attnc::rt
