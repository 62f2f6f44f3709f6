// A configuration as a spec of attnc: the text, its name, and the compiled package, made by the
// attnc executable and cached, or taken from a directory of prebuilt ones.
#ifndef ATTNC_BENCH_SPEC_H
#define ATTNC_BENCH_SPEC_H

#include "Config.h"

#include <string>

namespace attnc::bench {

/// Name of the spec and of its package file: batch, length, launch and cache are run-time matters,
/// so many cells share one ("bench-decode-h32x8-d128-bf16").
std::string specName(const Config &config);

/// The spec. \returns Unsupported for what specs do not have (fwd_bwd).
Result<std::string> specText(const Config &config);

struct PackageSource {
  /// Directory of NAME.SM.attnpkg files; empty: compile.
  std::string prebuilt;
  /// Where compiled packages and specs are kept.
  std::string workDirectory;
  /// The attnc executable; empty: none on this machine.
  std::string compiler;
  /// Fields of the configuration to force, as attnc's --config takes them; empty: attnc's choice,
  /// which may be one of the tuning store.
  std::string config = {};

  /// The package of \p cell for \p target ("sm_90a"). \returns Unsupported (attnc refuses, or no
  /// package and no compiler), CompileFailed, Environment.
  Result<std::string> path(const Config &cell, const std::string &target) const;
};

/// "sm_90" to what attnc calls it: "sm_90a".
std::string targetOf(const std::string &sm);

} // namespace attnc::bench

#endif // ATTNC_BENCH_SPEC_H
