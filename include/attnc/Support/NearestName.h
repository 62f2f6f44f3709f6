// "did you mean": the known name closest to a misspelt one. For error messages only; nothing is
// ever resolved by similarity.
#ifndef ATTNC_SUPPORT_NEARESTNAME_H
#define ATTNC_SUPPORT_NEARESTNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace attnc {

/// The candidate with the least edit distance to `name` (letter case ignored), or an empty string
/// when none is closer than about a third of the name's length. Ties go to the earlier candidate.
llvm::StringRef nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// "; did you mean 'causal'?", or an empty string when nothing is near.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace attnc

#endif // ATTNC_SUPPORT_NEARESTNAME_H
