// The command line, checked before LLVM's parser reads it, so that its faults are told in our words.
#ifndef ATTNC_TOOLS_COMMANDLINE_H
#define ATTNC_TOOLS_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace attnc::cli {

/// Refuses unknown verbs and options (naming the nearest), options without their value, numbers that
/// are none, options given twice, and too few or too many arguments. `arguments` are those after the
/// program's name. What it passes, LLVM's parser takes. \returns an exit code; the error is printed.
int checkCommandLine(llvm::ArrayRef<const char *> arguments);

/// Refuses a --config that is no list of known fields with values they can have: block_m=64,stages=2.
/// Whether a target can take them together is the compiler's to say. \returns an exit code.
int checkConfig(llvm::StringRef text);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_COMMANDLINE_H
