// Whether a target can run a spec, found out by compiling it, without printing anything.
#ifndef ATTNC_TOOLS_VERDICT_H
#define ATTNC_TOOLS_VERDICT_H

#include "CompileTarget.h"

#include "llvm/Support/JSON.h"

namespace attnc::cli {

/// What compiling (and, where possible, assembling) one spec for one target gave.
struct Verdict {
  /// kExitOk, kExitUnsupported, kExitCompileFailed or kExitEnvironment.
  int code = 0;
  /// The first diagnostic; empty when it works.
  std::string reason;
  bool assembled = false;
  /// Largest over the kernels; -1 where not assembled.
  int64_t registers = -1, spillBytes = -1, sharedBytes = 0;
  std::vector<std::pair<std::string, int64_t>> config;

  bool ok() const { return code == 0; }
  /// "ok", "unsupported" or "failed".
  const char *word() const;
};

/// Compiles to PTX (the host: to a program), then assembles if `assemble`.
Verdict judge(Input &input, const TargetInfo &target, const std::string &config, bool assemble);

llvm::json::Object verdictJson(const TargetInfo &target, const Verdict &verdict);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_VERDICT_H
