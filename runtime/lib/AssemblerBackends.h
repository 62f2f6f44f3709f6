// The three ways to turn PTX into a cubin. Each takes PTX and gives a cubin and a log; choosing
// one, naming the failure and keeping rejected PTX is done once, in Assemble.cpp.
#ifndef ATTNC_RUNTIME_LIB_ASSEMBLERBACKENDS_H
#define ATTNC_RUNTIME_LIB_ASSEMBLERBACKENDS_H

#include "attnc/Runtime/Assemble.h"

#include <string>
#include <string_view>

namespace attnc::rt {

/// What a backend did. `accepted` false with an ok status is a rejection, described by the log.
struct BackendOutput {
  bool accepted = false;
  std::string cubin;
  std::string log;
};

/// Failures of these are about the machine (library missing, no temporary file), never about PTX.
Result<BackendOutput> assembleWithNvJitLink(std::string_view ptx, std::string_view target,
                                            const AssembleOptions &options);
Result<BackendOutput> assembleWithPtxas(const std::string &ptxasPath, std::string_view ptx,
                                        std::string_view target, const AssembleOptions &options);
/// Assembles for the device that \p target can run on; needs a GPU.
Result<BackendOutput> assembleWithDriver(std::string_view ptx, std::string_view target,
                                         const AssembleOptions &options);

/// ptxas options that express \p options, without -arch and -v.
std::vector<std::string> ptxasOptions(const AssembleOptions &options);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_ASSEMBLERBACKENDS_H
