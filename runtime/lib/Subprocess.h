// Runs a program and captures what it prints. No shell in between.
#ifndef ATTNC_RUNTIME_LIB_SUBPROCESS_H
#define ATTNC_RUNTIME_LIB_SUBPROCESS_H

#include "attnc/Runtime/Status.h"

#include <string>
#include <vector>

namespace attnc::rt {

struct SubprocessOutput {
  /// Exit status; 128 + signal number if it was killed.
  int exitCode = 0;
  /// stdout and stderr as they came.
  std::string text;
};

/// \p arguments begins with the program's path. \returns Environment if it cannot be started.
Result<SubprocessOutput> runSubprocess(const std::vector<std::string> &arguments);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_SUBPROCESS_H
