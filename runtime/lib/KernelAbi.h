// How manifest parameters expand to kernel parameters, and the limits of that. One place, shared by
// the package check and the plan.
#ifndef ATTNC_RUNTIME_LIB_KERNELABI_H
#define ATTNC_RUNTIME_LIB_KERNELABI_H

#include "attnc/Runtime/Package.h"

#include <cstddef>

namespace attnc::rt {

constexpr int maxTensorRank = 6;

/// Parameters of one kernel after expansion. Each takes at most 8 bytes, so this also keeps a
/// kernel within the 4096 bytes of parameters that every SM takes.
constexpr std::size_t maxParamSlots = 256;

/// Tensor maps of one kernel.
constexpr std::size_t maxTensorMaps = 8;

/// Parameters of 8 bytes that \p param takes: for a tensor the pointer and the strides, for a tensor
/// map the room of 128 bytes and what their alignment may cost.
inline std::size_t paramSlots(const ParamDesc &param) {
  if (param.kind == ParamKind::TensorMap)
    return 24;
  if (param.kind != ParamKind::Tensor)
    return 1;
  return 1 + std::size_t(param.rank) - (param.unitInner ? 1 : 0);
}

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_KERNELABI_H
