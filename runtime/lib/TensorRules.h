// What a plan demands of each tensor: sizes, strides, alignment; and the check of a view against
// it.
#ifndef ATTNC_RUNTIME_LIB_TENSORRULES_H
#define ATTNC_RUNTIME_LIB_TENSORRULES_H

#include "attnc/Runtime/Package.h"
#include "attnc/Runtime/Plan.h"
#include "attnc/Runtime/Tensor.h"

#include <array>
#include <cstdint>
#include <string>

namespace attnc::rt {

/// What one dimension may be.
struct DimensionRule {
  enum class Kind : std::uint8_t {
    Exact,     ///< `size`.
    AtLeast,   ///< `size` or more: a cache or packed buffer with room to spare.
    Broadcast, ///< `size`, or 1, which is then passed with stride 0.
    Any,
  };
  Kind kind = Kind::Any;
  std::int64_t size = 0;
};

struct TensorRule {
  std::string name;
  DataType dtype = DataType::F32;
  int rank = 0;
  std::array<DimensionRule, TensorView::maxRank> dimensions = {};
  bool unitInner = true;
  bool output = false;
  /// Bytes that base address and strides must be a multiple of.
  int align = 1;
};

/// The rule of a manifest's tensor parameter under concrete sizes.
/// \returns InvalidArgument if the manifest's rank contradicts the tensor's name.
Result<TensorRule> makeTensorRule(const ParamDesc &param, const ProblemDesc &problem,
                                  const ProblemSizes &sizes, const SymbolTable &symbols);

/// \returns InvalidArgument naming the tensor, what was found and what is allowed. Allocates only
/// to build a message.
Status checkTensor(const TensorRule &rule, const TensorView &view);

/// The stride to pass for dimension \p d of a checked view.
inline std::int64_t passedStride(const TensorRule &rule, const TensorView &view, int d) {
  const auto i = std::size_t(d);
  // One element along the dimension: read again for every index.
  if (rule.dimensions[i].kind == DimensionRule::Kind::Broadcast && view.shape[i] == 1)
    return 0;
  return view.strides[i];
}

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_TENSORRULES_H
