// Tensor maps of a plan: from a checked view to what the driver encodes, and a cache of the results,
// since a model runs one plan on the same few tensors again and again.
#ifndef ATTNC_RUNTIME_LIB_TENSORMAPS_H
#define ATTNC_RUNTIME_LIB_TENSORMAPS_H

#include "TensorRules.h"
#include "attnc/Runtime/Launcher.h"

#include <array>
#include <mutex>

namespace attnc::rt {

/// Dimensions of a box, in the logical order [batch, head, seq, dim], and its swizzle in bytes.
struct TensorMapShape {
  std::array<int, TensorView::maxRank> box = {};
  int swizzle = 0;
};

/// What to encode for a view that `checkTensor` has accepted and that is not empty.
/// \returns InvalidArgument naming the tensor if its strides or sizes exceed a map's.
Status makeTensorMapRequest(const TensorRule &rule, const TensorView &view,
                            const TensorMapShape &shape, TensorMapRequest &request);

/// Remembers encoded maps. A fixed table without chains: two requests that share a place replace
/// each other, so that nothing is ever allocated after construction. Thread-safe.
class TensorMapCache {
public:
  /// The map for \p request, encoded by \p launcher unless it is known.
  Status get(Launcher &launcher, const TensorMapRequest &request, TensorMap &map);

private:
  struct Entry {
    bool used = false;
    TensorMapRequest request;
    TensorMap map;
  };
  // Three maps for each of 80 layers.
  static constexpr std::size_t size = 256;

  std::mutex mutex;
  std::array<Entry, size> entries;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_TENSORMAPS_H
