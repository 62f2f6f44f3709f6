// Runs a compiled problem on the host or on GPU 0, filling poisoned outputs in place.
#ifndef ATTNC_TOOLS_RUNNER_H
#define ATTNC_TOOLS_RUNNER_H

#include "CompileTarget.h"
#include "ProblemData.h"

namespace attnc::cli {

/// How a run went, beside the outputs.
struct RunFacts {
  /// "host, 2 threads" or "NVIDIA H200 (cubin)".
  std::string where;
  double milliseconds = 0;
  int64_t splits = 1;
  int64_t workspaceBytes = 0;
  bool workspaceGuardsIntact = true;
};

/// Runs a host program. `splits` 0 does not divide the keys. \returns an exit code; errors are printed.
int runOnHost(const Spec &spec, TargetResult &result, Problem &problem,
              std::map<std::string, HostTensor> &outputs, unsigned threads, int64_t splits,
              RunFacts &facts);

/// Loads the package and launches it on GPU 0. `splits` 0 lets the plan choose.
/// \returns an exit code; errors are printed.
int runOnGpu(const Spec &spec, const TargetInfo &target, const TargetResult &result,
             const Problem &problem, std::map<std::string, HostTensor> &outputs, int64_t splits,
             RunFacts &facts);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_RUNNER_H
