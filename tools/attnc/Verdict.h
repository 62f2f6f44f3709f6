// Whether a target can run a spec, found out by compiling it as far as asked, without printing anything.
#ifndef ATTNC_TOOLS_VERDICT_H
#define ATTNC_TOOLS_VERDICT_H

#include "CompileTarget.h"

#include "llvm/Support/JSON.h"

namespace attnc::cli {

/// How far a spec is compiled to judge it. Schedule takes milliseconds and meets every limit that the
/// compiler knows; Full makes the code, PTX or the host's program; Assembled also runs the assembler.
enum class Depth { Schedule, Full, Assembled };

/// What compiling one spec for one target gave.
struct Verdict {
  /// kExitOk, kExitUnsupported, kExitCompileFailed or kExitEnvironment.
  int code = 0;
  /// The first diagnostic; empty when it works.
  std::string reason;
  Depth depth = Depth::Schedule;
  /// Largest over the kernels; -1 where not compiled (sharedBytes) or not assembled.
  int64_t registers = -1, spillBytes = -1, sharedBytes = -1;
  std::vector<std::pair<std::string, int64_t>> config;

  bool ok() const { return code == 0; }
  /// "ok", "unsupported" or "failed".
  const char *word() const;
};

/// Compiles as far as `depth` says.
Verdict judge(Input &input, const TargetInfo &target, const std::string &config, Depth depth);

llvm::json::Object verdictJson(const TargetInfo &target, const Verdict &verdict);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_VERDICT_H
