// What this machine has of everything the runtime can use, for `attnc env`. Never fails: what is
// missing is part of the answer, with the reason.
#ifndef ATTNC_RUNTIME_ENVIRONMENT_H
#define ATTNC_RUNTIME_ENVIRONMENT_H

#include <string>

namespace attnc::rt {

/// The runtime's version, "0.1.0".
const char *runtimeVersion();

/// A JSON object: "runtime", "driver", "gpus", "nvml", "nvjitlink", "ptxas", "nvrtc", "cudnn" and
/// "remarks". Each library has "found" and, if so, "path" and "version", else "reason".
std::string environmentJson();

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_ENVIRONMENT_H
