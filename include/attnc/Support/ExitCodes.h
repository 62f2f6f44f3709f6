// Exit codes of every attnc tool, so that scripts can tell a bad spec from a missing driver. Not an
// error type: messages travel by diagnostics and Error/string results.
#ifndef ATTNC_SUPPORT_EXITCODES_H
#define ATTNC_SUPPORT_EXITCODES_H

namespace attnc {

enum ExitCode : int {
  kExitOk = 0,
  /// The spec is valid and supported, yet compiling it failed.
  kExitCompileFailed = 1,
  /// Bad command line or bad spec (the message has file:line:col).
  kExitBadUsage = 2,
  /// A valid spec that the target cannot run.
  kExitUnsupported = 3,
  /// Results outside the tolerance of the semantics contract.
  kExitWrongNumbers = 4,
  /// Driver, assembler or another part of the environment is missing or too old.
  kExitEnvironment = 5,
  /// Out of memory, predicted or real.
  kExitOutOfMemory = 6,
  /// A benchmark comparison found a regression.
  kExitRegression = 7,
  /// Our own bug; a reproducer's path is printed.
  kExitInternal = 70
};

} // namespace attnc

#endif // ATTNC_SUPPORT_EXITCODES_H
