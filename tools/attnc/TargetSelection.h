// Turns `--target` into rows of the target table.
#ifndef ATTNC_TOOLS_TARGETSELECTION_H
#define ATTNC_TOOLS_TARGETSELECTION_H

#include "attnc/Target/Target.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace attnc::cli {

/// The target of GPU 0, or null with `reason` set: no driver, no GPU, or an SM not in the table.
const TargetInfo *nativeTarget(std::string &reason);

/// Resolves names, "all", "native" and "host", each target once, in the order given. An "sm_90" whose
/// table row is "sm_90a" is promoted, and a note says so. Errors are printed.
/// \returns an exit code; kExitEnvironment when "native" finds no GPU.
int selectTargets(llvm::ArrayRef<std::string> names, std::vector<const TargetInfo *> &targets);

/// "sm_80, sm_86, …, host, all, native": for messages.
std::string knownTargets();

} // namespace attnc::cli

#endif // ATTNC_TOOLS_TARGETSELECTION_H
