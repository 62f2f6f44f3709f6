// Whether a problem fits this machine's memory, known before any of it is allocated.
#ifndef ATTNC_TOOLS_MEMORYLIMIT_H
#define ATTNC_TOOLS_MEMORYLIMIT_H

#include "ProblemShape.h"

namespace attnc::cli {

/// Bytes of memory that the problem, its outputs and its fp64 reference take at most, from batch,
/// maxQ and maxKv alone: lengths need not be drawn yet. Beyond 64 bits it is UINT64_MAX.
uint64_t estimateBytes(const Spec &spec, const ProblemShape &shape);

/// Refuses what needs more bytes than this process may still take (the machine's free memory, or
/// less where a control group or `ulimit -v` says so). `what` needs them, `remedy` says what to do.
/// \returns an exit code; the error is printed.
int checkMemory(const std::string &what, uint64_t bytes, const std::string &remedy);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_MEMORYLIMIT_H
