// A GPU and its primary context, held while the Device lives. Everything that works on a GPU takes
// a Device; nothing in the runtime relies on which context is current.
#ifndef ATTNC_RUNTIME_DEVICE_H
#define ATTNC_RUNTIME_DEVICE_H

#include "attnc/Runtime/CudaApis.h"
#include "attnc/Runtime/Status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace attnc::rt {

struct DeviceProperties {
  int ordinal = 0;
  std::string name; ///< "NVIDIA H200"
  std::string sm;   ///< "sm_90": architecture without a suffix.
  int computeMajor = 0, computeMinor = 0;
  int multiprocessors = 0;
  std::int64_t sharedOptinBytes = 0; ///< Most dynamic shared memory of a block.
  std::int64_t sharedPerMultiprocessor = 0;
  std::int64_t l2Bytes = 0;
  std::int64_t totalBytes = 0;
  int driverVersion = 0; ///< 1000·major + 10·minor of the CUDA version.
};

class Device {
public:
  /// Number of GPUs. \returns Environment where there is no driver.
  static Result<int> count();

  /// Retains the primary context of GPU \p ordinal, the context that the CUDA runtime and the
  /// frameworks use as well. Devices of one ordinal share it.
  static Result<std::shared_ptr<Device>> open(int ordinal);

  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceProperties &properties() const { return props; }
  const cuda::DriverApi &api() const { return driver; }
  cuda::CUcontext context() const { return primary; }

  /// Free and total bytes of device memory now.
  struct MemoryInfo {
    std::int64_t freeBytes = 0, totalBytes = 0;
  };
  Result<MemoryInfo> memoryInfo() const;

  /// Waits for all work of the context.
  Status synchronize() const;

private:
  explicit Device(const cuda::DriverApi &driver) : driver(driver) {}

  const cuda::DriverApi &driver;
  DeviceProperties props;
  cuda::CUdevice handle = 0;
  cuda::CUcontext primary = nullptr;
};

/// Makes a device's context current for one scope and puts the caller's back after it.
class ContextGuard {
public:
  explicit ContextGuard(const Device &device);
  ~ContextGuard();
  ContextGuard(const ContextGuard &) = delete;
  ContextGuard &operator=(const ContextGuard &) = delete;

  const Status &status() const { return result; }

private:
  const Device &device;
  Status result;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_DEVICE_H
