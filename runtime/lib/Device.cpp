// Devices, primary contexts, properties.
#include "attnc/Runtime/Device.h"

#include "StatusFormat.h"
#include "StatusMapping.h"

namespace attnc::rt {

Result<int> Device::count() {
  Result<const cuda::DriverApi *> api = driverApi();
  if (!api)
    return api.status();
  int count = 0;
  if (cuda::CUresult result = (*api)->cuDeviceGetCount(&count); result != cuda::success)
    return driverStatus(**api, result, "cuDeviceGetCount");
  return count;
}

Result<std::shared_ptr<Device>> Device::open(int ordinal) {
  Result<int> available = count();
  if (!available)
    return available.status();
  if (ordinal < 0 || ordinal >= *available)
    return environmentError("there is no GPU {}; this machine has {}", ordinal, *available);
  const cuda::DriverApi &api = **driverApi();

  std::shared_ptr<Device> device(new Device(api));
  if (cuda::CUresult result = api.cuDeviceGet(&device->handle, ordinal); result != cuda::success)
    return driverStatus(api, result, "cuDeviceGet");
  DeviceProperties &props = device->props;
  props.ordinal = ordinal;
  props.driverVersion = api.version;
  char name[256] = {};
  if (cuda::CUresult result = api.cuDeviceGetName(name, sizeof name - 1, device->handle);
      result != cuda::success)
    return driverStatus(api, result, "cuDeviceGetName");
  props.name = name;
  std::size_t total = 0;
  if (cuda::CUresult result = api.cuDeviceTotalMem(&total, device->handle); result != cuda::success)
    return driverStatus(api, result, "cuDeviceTotalMem");
  props.totalBytes = std::int64_t(total);

  int shared = 0, sharedPerMultiprocessor = 0, l2 = 0;
  const struct {
    cuda::DeviceAttribute attribute;
    int *value;
  } attributes[] = {{cuda::computeMajor, &props.computeMajor},
                    {cuda::computeMinor, &props.computeMinor},
                    {cuda::multiprocessorCount, &props.multiprocessors},
                    {cuda::sharedPerBlockOptin, &shared},
                    {cuda::sharedPerMultiprocessor, &sharedPerMultiprocessor},
                    {cuda::l2CacheBytes, &l2}};
  for (const auto &entry : attributes)
    if (cuda::CUresult result =
            api.cuDeviceGetAttribute(entry.value, entry.attribute, device->handle);
        result != cuda::success)
      return driverStatus(api, result, "cuDeviceGetAttribute");
  props.sharedOptinBytes = shared;
  props.sharedPerMultiprocessor = sharedPerMultiprocessor;
  props.l2Bytes = l2;
  props.sm = fmt::format("sm_{}{}", props.computeMajor, props.computeMinor);

  if (cuda::CUresult result = api.cuDevicePrimaryCtxRetain(&device->primary, device->handle);
      result != cuda::success)
    return driverStatus(api, result, "cuDevicePrimaryCtxRetain", {{}, props.sm});
  return device;
}

Device::~Device() {
  if (primary)
    driver.cuDevicePrimaryCtxRelease(handle);
}

Result<Device::MemoryInfo> Device::memoryInfo() const {
  const ContextGuard guard(*this);
  if (!guard.status().ok())
    return guard.status();
  std::size_t free = 0, total = 0;
  if (cuda::CUresult result = driver.cuMemGetInfo(&free, &total); result != cuda::success)
    return driverStatus(driver, result, "cuMemGetInfo", {{}, props.sm});
  return MemoryInfo{std::int64_t(free), std::int64_t(total)};
}

Status Device::synchronize() const {
  const ContextGuard guard(*this);
  if (!guard.status().ok())
    return guard.status();
  return driverStatus(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize", {{}, props.sm});
}

ContextGuard::ContextGuard(const Device &device)
    : device(device),
      result(driverStatus(device.api(), device.api().cuCtxPushCurrent(device.context()),
                          "cuCtxPushCurrent", {{}, device.properties().sm})) {}

ContextGuard::~ContextGuard() {
  if (!result.ok())
    return;
  cuda::CUcontext popped = nullptr;
  device.api().cuCtxPopCurrent(&popped);
}

} // namespace attnc::rt
