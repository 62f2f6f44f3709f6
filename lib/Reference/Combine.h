// Merges partial results by their log-sum-exps, in f64 and plainly in f32.
#ifndef ATTNC_LIB_REFERENCE_COMBINE_H
#define ATTNC_LIB_REFERENCE_COMBINE_H

#include "attnc/Reference/Reference.h"

namespace attnc::reference {

/// `oParts` [splits, B, H, S, D], `lseParts` [splits, B, H, S], `sinks` [H] or null. Returns an
/// error message, empty on success.
std::string evaluateCombine(const HostTensor &oParts, const HostTensor &lseParts,
                            const HostTensor *sinks, DType outputType, ReferenceResult &result);

} // namespace attnc::reference

#endif // ATTNC_LIB_REFERENCE_COMBINE_H
