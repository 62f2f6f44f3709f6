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

/// Kernel parameters that \p param becomes: for a tensor the pointer and the strides.
inline std::size_t paramSlots(const ParamDesc &param) {
  if (param.kind != ParamKind::Tensor)
    return 1;
  return 1 + std::size_t(param.rank) - (param.unitInner ? 1 : 0);
}

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_KERNELABI_H
