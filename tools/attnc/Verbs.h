// The verbs of attnc: each parses nothing itself, its options are cl::opts of its file. All return an
// exit code of attnc/Support/ExitCodes.h.
#ifndef ATTNC_TOOLS_VERBS_H
#define ATTNC_TOOLS_VERBS_H

#include "llvm/Support/CommandLine.h"

namespace attnc::cli {

/// Functions, so that an option of any file can name a verb before main.
llvm::cl::SubCommand &compileVerb();
llvm::cl::SubCommand &runVerb();
llvm::cl::SubCommand &checkVerb();
llvm::cl::SubCommand &explainVerb();
llvm::cl::SubCommand &matrixVerb();
llvm::cl::SubCommand &envVerb();
llvm::cl::SubCommand &specVerb();

int compileMain();
int runMain();
int checkMain();
int explainMain();
int matrixMain();
int envMain();
int specMain();

} // namespace attnc::cli

#endif // ATTNC_TOOLS_VERBS_H
