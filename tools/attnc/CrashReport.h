// Our own bugs: a crash prints where the IR and pipeline that led to it were kept, and exits with 70.
#ifndef ATTNC_TOOLS_CRASHREPORT_H
#define ATTNC_TOOLS_CRASHREPORT_H

#include <string>

namespace attnc::cli {

/// Handles fatal signals and LLVM's fatal errors from now on.
void installCrashReport();

/// What to keep if the process crashes from now on: a file for `attn-opt --run-reproducer`.
void setReproducer(std::string text);

/// Prints that attnc has a bug and what to report, keeping the reproducer. \returns 70.
int reportInternalError(const std::string &what);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_CRASHREPORT_H
