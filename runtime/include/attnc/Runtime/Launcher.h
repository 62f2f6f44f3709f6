// The seam between a plan and a device: something that launches kernel number i of a package. The
// implementation that matters is Executable; tests bring one that only records.
#ifndef ATTNC_RUNTIME_LAUNCHER_H
#define ATTNC_RUNTIME_LAUNCHER_H

#include "attnc/Runtime/Status.h"
#include "attnc/Runtime/Tensor.h"

#include <array>
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

/// A CUtensorMap: opaque, passed to a kernel by value.
struct alignas(64) TensorMap {
  std::array<std::uint8_t, 128> bytes = {};
};

/// What a tensor map describes. Dimensions are innermost first; the first one has stride 1.
struct TensorMapRequest {
  std::uint64_t address = 0;
  DataType dtype = DataType::BF16;
  int rank = 0;
  std::array<std::uint64_t, TensorView::maxRank> dims = {};
  /// Of dimensions 1, 2, …: rank − 1 entries.
  std::array<std::uint64_t, TensorView::maxRank> strideBytes = {};
  /// Elements that one copy takes along each dimension.
  std::array<std::uint32_t, TensorView::maxRank> box = {};
  /// Bytes of the pattern in shared memory: 0, 32, 64 or 128.
  int swizzle = 0;

  bool operator==(const TensorMapRequest &other) const {
    return address == other.address && dtype == other.dtype && rank == other.rank &&
           dims == other.dims && strideBytes == other.strideBytes && box == other.box &&
           swizzle == other.swizzle;
  }
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

  /// Encodes \p request, between `begin` and `end`. \returns Unsupported where there are no tensor
  /// maps.
  virtual Status encodeTensorMap(const TensorMapRequest &request, TensorMap &map);

  /// Multiprocessors of the device, for choosing splits and persistent grids; 0 if unknown.
  virtual int multiprocessors() const { return 0; }
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LAUNCHER_H
