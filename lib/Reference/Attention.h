// Evaluates one attention problem, row by row, in f64 and plainly.
#ifndef ATTNC_LIB_REFERENCE_ATTENTION_H
#define ATTNC_LIB_REFERENCE_ATTENTION_H

#include "Problem.h"
#include "attnc/Reference/Reference.h"

namespace attnc::reference {

/// Returns an error message, empty on success.
std::string evaluateAttention(const Problem &problem, unsigned threads, ReferenceResult &result);

} // namespace attnc::reference

#endif // ATTNC_LIB_REFERENCE_ATTENTION_H
