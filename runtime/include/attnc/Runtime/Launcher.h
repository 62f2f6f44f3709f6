// The seam between a plan and a device: something that launches kernel number i of a package. The
// implementation that matters is Executable; tests bring one that only records.
#ifndef ATTNC_RUNTIME_LAUNCHER_H
#define ATTNC_RUNTIME_LAUNCHER_H

#include "attnc/Runtime/Status.h"

#include <cstddef>
#include <cstdint>

namespace attnc::rt {

struct LaunchRequest {
  /// Index into `Package::kernels`.
  std::size_t kernel = 0;
  /// Blocks; 1 or more.
  std::int64_t grid = 0;
  /// Threads in a block.
  int block = 0;
  std::int64_t sharedBytes = 0;
  /// Pointers to the values of the kernel parameters after expansion, in kernel order.
  void **params = nullptr;
  std::size_t paramCount = 0;
  /// CUstream; null is the legacy default stream.
  void *stream = nullptr;
};

/// Implementations are thread-safe and allocate nothing in `launch`.
class Launcher {
public:
  virtual ~Launcher() = default;

  /// Called before the launches of one run and after them, so that an implementation can make its
  /// context current once. `end` is called whenever `begin` succeeded.
  virtual Status begin() { return {}; }
  virtual Status launch(const LaunchRequest &request) = 0;
  virtual void end() {}

  /// Multiprocessors of the device, for choosing splits; 0 if unknown.
  virtual int multiprocessors() const { return 0; }
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LAUNCHER_H
