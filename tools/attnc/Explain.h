// What was compiled and why, for `--explain`, `attnc explain`, and as JSON.
#ifndef ATTNC_TOOLS_EXPLAIN_H
#define ATTNC_TOOLS_EXPLAIN_H

#include "CompileTarget.h"

#include "llvm/Support/JSON.h"

namespace attnc::cli {

/// Everything known about one target's result.
llvm::json::Object explainJson(const Input &input, const TargetInfo &target,
                               const TargetResult &result);

/// The same for people.
void printExplanation(llvm::raw_ostream &stream, const Input &input, const TargetInfo &target,
                      const TargetResult &result);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_EXPLAIN_H
