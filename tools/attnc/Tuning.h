// Where a configuration comes from when --config names none: what attn-bench tune measured.
#ifndef ATTNC_TOOLS_TUNING_H
#define ATTNC_TOOLS_TUNING_H

#include "CompileTarget.h"

namespace attnc::cli {

/// Names the problem of `spec` in the tuning store: the hash of its canonical form without its name
/// and layout, on which the best configuration does not depend.
std::string tuningKey(const Spec &spec);

/// compileTarget with the configuration that --config forces or else the tuning store has, appended
/// to `options.config`; the latter is left in `result.tuned`. \returns its exit code, or 5 for a
/// store that cannot be read.
int compileTuned(Input &input, CompileOptions options, TargetResult &result);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_TUNING_H
