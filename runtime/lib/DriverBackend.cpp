// PTX to cubin by the driver's own compiler. Needs a GPU; used where no toolkit is installed.
#include "AssemblerBackends.h"

#include "StatusFormat.h"
#include "StatusMapping.h"
#include "attnc/Runtime/Device.h"

#include <cstring>

namespace attnc::rt {
namespace {

/// A device whose own target is \p target, without regard to an 'a' suffix.
Result<std::shared_ptr<Device>> deviceFor(std::string_view target) {
  Result<int> count = Device::count();
  if (!count)
    return count.status();
  std::string bare(target);
  if (bare.back() == 'a' || bare.back() == 'f')
    bare.pop_back();
  std::string found;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    Result<std::shared_ptr<Device>> device = Device::open(ordinal);
    if (!device)
      return device.status();
    const std::string &sm = (*device)->properties().sm;
    if (sm == bare)
      return device;
    found += (found.empty() ? "" : ", ") + sm;
  }
  return environmentError("the driver assembles only for the GPUs it has ({}), not for {}; install "
                          "nvJitLink or ptxas",
                          found.empty() ? "none" : found, target);
}

} // namespace

Result<BackendOutput> assembleWithDriver(std::string_view ptx, std::string_view target,
                                         const AssembleOptions &options) {
  Result<std::shared_ptr<Device>> device = deviceFor(target);
  if (!device)
    return device.status();
  const ContextGuard guard(**device);
  if (!guard.status().ok())
    return guard.status();
  const cuda::DriverApi &api = (*device)->api();

  std::string info(64 << 10, '\0'), error(64 << 10, '\0');
  std::vector<int> keys;
  std::vector<void *> values;
  const auto add = [&](cuda::JitOption key, std::uintptr_t value) {
    keys.push_back(key);
    values.push_back(reinterpret_cast<void *>(value));
  };
  add(cuda::jitInfoLog, reinterpret_cast<std::uintptr_t>(info.data()));
  add(cuda::jitInfoLogBytes, info.size());
  add(cuda::jitErrorLog, reinterpret_cast<std::uintptr_t>(error.data()));
  add(cuda::jitErrorLogBytes, error.size());
  add(cuda::jitLogVerbose, 1);
  add(cuda::jitOptimizationLevel, std::uintptr_t(options.optLevel));
  if (options.lineInfo)
    add(cuda::jitGenerateLineInfo, 1);
  if (options.maxRegisters > 0)
    add(cuda::jitMaxRegisters, std::uintptr_t(options.maxRegisters));
  if (!options.extra.empty())
    return unsupported("the driver's assembler takes no extra options, found '{}'",
                       options.extra.front());

  const CallContext context{options.name, (*device)->properties().sm};
  cuda::CUlinkState state = nullptr;
  if (cuda::CUresult result =
          api.cuLinkCreate(unsigned(keys.size()), keys.data(), values.data(), &state);
      result != cuda::success)
    return driverStatus(api, result, "cuLinkCreate", context);
  BackendOutput output;
  const std::string text(ptx);
  const char *call = "cuLinkAddData";
  cuda::CUresult result =
      api.cuLinkAddData(state, cuda::jitInputPtx, const_cast<char *>(text.c_str()), text.size() + 1,
                        options.name.c_str(), 0, nullptr, nullptr);
  if (result == cuda::success) {
    void *cubin = nullptr;
    std::size_t bytes = 0;
    call = "cuLinkComplete";
    result = api.cuLinkComplete(state, &cubin, &bytes);
    if (result == cuda::success)
      output.cubin.assign(static_cast<const char *>(cubin), bytes);
  }
  api.cuLinkDestroy(state);
  output.accepted = result == cuda::success;
  output.log = std::string(error.c_str()) + info.c_str();
  if (!output.accepted) {
    const Status status = driverStatus(api, result, call, context);
    // Only these say that the PTX is at fault; an old driver or lost context is the machine's.
    if (result != cuda::errorInvalidPtx && result != cuda::errorInvalidImage &&
        result != cuda::errorNoBinaryForGpu)
      return Status(status.code(), status.message(), output.log);
    if (output.log.empty())
      output.log = "error: " + status.message();
  }
  return output;
}

} // namespace attnc::rt
