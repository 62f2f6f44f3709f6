// Checks problem sizes against a package, and derives what follows from them alone.
#ifndef ATTNC_RUNTIME_LIB_SIZERULES_H
#define ATTNC_RUNTIME_LIB_SIZERULES_H

#include "attnc/Runtime/Plan.h"

namespace attnc::rt {

/// \returns InvalidArgument or Unsupported naming the size. Host lengths, where given, are checked
/// to be ordered and within the sizes.
Status checkSizes(const Package &package, const ProblemSizes &sizes);

/// Fills totals that dense sizes imply.
Result<ProblemSizes> completeSizes(const Package &package, ProblemSizes sizes);

/// Values of the package's symbols. \p multiprocessors is 0 where no device is known: then nothing
/// limits a grid by it.
SymbolTable symbolsOf(const Package &package, const ProblemSizes &sizes, int multiprocessors);

/// True if the split count changes anything in the package.
bool usesSplits(const Package &package);

/// A split count that gives every multiprocessor about two blocks, without parts shorter than 256
/// keys. Depends on sizes and device only, so that equal problems get equal results.
Result<std::int64_t> chooseSplits(const Package &package, const ProblemSizes &sizes,
                                  int multiprocessors);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_SIZERULES_H
