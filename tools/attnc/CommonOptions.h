// Options that several verbs share.
#ifndef ATTNC_TOOLS_COMMONOPTIONS_H
#define ATTNC_TOOLS_COMMONOPTIONS_H

#include "llvm/Support/CommandLine.h"

#include <string>

namespace attnc::cli {

extern llvm::cl::opt<std::string> specPath;
extern llvm::cl::list<std::string> targetNames;
extern llvm::cl::opt<std::string> configOverrides;
/// Of the tuning store, as rt::tuningStorePath takes it.
extern llvm::cl::opt<std::string> tuningPath;
extern llvm::cl::opt<bool> asJson;

} // namespace attnc::cli

#endif // ATTNC_TOOLS_COMMONOPTIONS_H
