// Loading code and launching kernels through the driver.
#include "attnc/Runtime/Module.h"

#include "StatusFormat.h"
#include "StatusMapping.h"

#include <limits>

namespace attnc::rt {

Result<std::shared_ptr<Module>> Module::load(std::shared_ptr<Device> device, std::string_view image,
                                             const std::string &name) {
  const ContextGuard guard(*device);
  if (!guard.status().ok())
    return guard.status();
  const cuda::DriverApi &api = device->api();
  std::string info(32 << 10, '\0'), error(32 << 10, '\0');
  int keys[] = {cuda::jitInfoLog, cuda::jitInfoLogBytes, cuda::jitErrorLog, cuda::jitErrorLogBytes,
                cuda::jitLogVerbose};
  void *values[] = {info.data(), reinterpret_cast<void *>(info.size()), error.data(),
                    reinterpret_cast<void *>(error.size()), reinterpret_cast<void *>(1)};
  // PTX must end with a zero; a cubin does not mind one more byte.
  const std::string text(image);
  std::shared_ptr<Module> module(new Module(device));
  const cuda::CUresult result =
      api.cuModuleLoadDataEx(&module->handle, text.c_str(), 5, keys, values);
  if (result != cuda::success) {
    module->handle = nullptr;
    const Status status =
        driverStatus(api, result, "cuModuleLoadDataEx", {name, device->properties().sm});
    const std::string log = std::string(error.c_str()) + info.c_str();
    std::string message = status.message();
    if (result == cuda::errorUnsupportedPtxVersion) {
      const std::size_t at = image.find(".version ");
      const std::string_view version = at == std::string_view::npos
                                           ? "unknown"
                                           : image.substr(at + 9, image.find('\n', at) - at - 9);
      message += fmt::format("; PTX ISA {}, driver for CUDA {}.{}", version, api.version / 1000,
                             api.version % 1000 / 10);
    }
    return Status(status.code(), message, log);
  }
  return module;
}

Module::~Module() {
  if (!handle)
    return;
  const ContextGuard guard(*owner);
  if (guard.status().ok())
    owner->api().cuModuleUnload(handle);
}

Result<Kernel> Module::kernel(const std::string &entry, std::int64_t sharedBytes) const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  const cuda::DriverApi &api = owner->api();
  const DeviceProperties &props = owner->properties();
  const CallContext context{entry, props.sm};
  Kernel kernel;
  kernel.module = shared_from_this();
  kernel.entry = entry;
  if (cuda::CUresult result = api.cuModuleGetFunction(&kernel.function, handle, entry.c_str());
      result != cuda::success)
    return driverStatus(api, result, "cuModuleGetFunction", context);

  int local = 0, shared = 0;
  const struct {
    cuda::FunctionAttribute attribute;
    int *value;
  } attributes[] = {{cuda::functionRegisters, &kernel.registerCount},
                    {cuda::functionLocalBytes, &local},
                    {cuda::functionStaticShared, &shared}};
  for (const auto &item : attributes)
    if (cuda::CUresult result = api.cuFuncGetAttribute(item.value, item.attribute, kernel.function);
        result != cuda::success)
      return driverStatus(api, result, "cuFuncGetAttribute", context);
  kernel.local = local;
  kernel.staticShared = shared;

  if (sharedBytes + shared > props.sharedOptinBytes)
    return unsupported("kernel {} needs {} bytes of shared memory ({} dynamic, {} static); {} ({}) "
                       "has {}; compile with fewer stages or smaller blocks",
                       entry, sharedBytes + shared, sharedBytes, shared, props.name, props.sm,
                       props.sharedOptinBytes);
  if (sharedBytes > 0)
    if (cuda::CUresult result = api.cuFuncSetAttribute(
            kernel.function, cuda::functionMaxDynamicShared, int(sharedBytes));
        result != cuda::success)
      return driverStatus(api, result, "cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)",
                          context);
  return kernel;
}

Status Kernel::launch(std::int64_t grid, int block, std::int64_t sharedBytes, void **params,
                      cuda::CUstream stream) const {
  if (grid == 0)
    return {};
  if (grid < 0 || grid > std::numeric_limits<std::int32_t>::max())
    return invalidArgument("kernel {}: a grid of {} blocks; CUDA allows 0 to 2147483647", entry,
                           grid);
  const Device &device = module->device();
  const ContextGuard guard(device);
  if (!guard.status().ok())
    return guard.status();
  const cuda::CUresult result =
      device.api().cuLaunchKernel(function, unsigned(grid), 1, 1, unsigned(block), 1, 1,
                                  unsigned(sharedBytes), stream, params, nullptr);
  if (result == cuda::success)
    return {}; // Without making a context for the message, which would allocate.
  return driverStatus(device.api(), result, "cuLaunchKernel", {entry, device.properties().sm});
}

Result<int> Kernel::occupancy(int block, std::int64_t sharedBytes) const {
  const Device &device = module->device();
  const ContextGuard guard(device);
  if (!guard.status().ok())
    return guard.status();
  int blocks = 0;
  if (cuda::CUresult result = device.api().cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, function, block, std::size_t(sharedBytes));
      result != cuda::success)
    return driverStatus(device.api(), result, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                        {entry, device.properties().sm});
  return blocks;
}

} // namespace attnc::rt
