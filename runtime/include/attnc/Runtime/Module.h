// Loaded code and its entry functions. Choosing what to load for a device is Executable's business.
#ifndef ATTNC_RUNTIME_MODULE_H
#define ATTNC_RUNTIME_MODULE_H

#include "attnc/Runtime/Device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace attnc::rt {

class Module;

/// One entry function. Cheap to copy; keeps its module loaded.
class Kernel {
public:
  /// Launches \p grid blocks (a one-dimensional grid) of \p block threads on \p stream (null: the
  /// legacy default stream). \p params points to pointers to the parameters' values, in order.
  /// A grid of 0 succeeds without a launch. \returns InvalidArgument for a grid that CUDA cannot
  /// hold, else what the driver says, with the kernel's name and the SM.
  Status launch(std::int64_t grid, int block, std::int64_t sharedBytes, void **params,
                cuda::CUstream stream) const;

  const std::string &name() const { return entry; }
  int registers() const { return registerCount; }
  std::int64_t localBytes() const { return local; }
  std::int64_t staticSharedBytes() const { return staticShared; }

  /// Blocks of \p block threads that fit on one multiprocessor at once.
  Result<int> occupancy(int block, std::int64_t sharedBytes) const;

private:
  friend class Module;
  std::shared_ptr<const Module> module;
  cuda::CUfunction function = nullptr;
  std::string entry;
  int registerCount = 0;
  std::int64_t local = 0;
  std::int64_t staticShared = 0;
};

class Module : public std::enable_shared_from_this<Module> {
public:
  /// Loads a cubin, or PTX that the driver then compiles. \p name is for messages.
  /// \returns the driver's error with its log in log().
  static Result<std::shared_ptr<Module>> load(std::shared_ptr<Device> device,
                                              std::string_view image, const std::string &name);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// The entry function \p entry, allowed to use \p sharedBytes of dynamic shared memory.
  /// \returns Unsupported when the device does not have that much; the message has both figures.
  Result<Kernel> kernel(const std::string &entry, std::int64_t sharedBytes) const;

  const Device &device() const { return *owner; }

private:
  explicit Module(std::shared_ptr<Device> device) : owner(std::move(device)) {}

  std::shared_ptr<Device> owner;
  cuda::CUmodule handle = nullptr;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_MODULE_H
