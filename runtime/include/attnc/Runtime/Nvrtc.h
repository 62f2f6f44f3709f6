// CUDA C++ to PTX and cubin by NVRTC, for hand-written kernels. Needs no GPU. The result has the
// shape of an assembled kernel, so that both load the same way.
#ifndef ATTNC_RUNTIME_NVRTC_H
#define ATTNC_RUNTIME_NVRTC_H

#include "attnc/Runtime/Assemble.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnc::rt {

struct NvrtcOptions {
  /// Name of the source in messages.
  std::string name = "kernel.cu";
  /// Options as for nvcc ("-DTILE=64", "--use_fast_math"); "-arch" is added from the target.
  std::vector<std::string> options;
  /// Headers by the name that `#include` uses.
  std::vector<std::pair<std::string, std::string>> headers;
  /// Add the toolkit's include directory, when there is one, for <cuda_bf16.h> and friends.
  bool toolkitHeaders = true;
};

struct NvrtcResult {
  std::string ptx;
  AssembleResult assembled;
};

/// Compiles \p source for \p target ("sm_90a"): PTX by NVRTC, which also makes the cubin.
/// \returns CompileFailed with NVRTC's first error line (log() has all), Environment when NVRTC is
///          not on this machine (the message lists where it looked).
Result<NvrtcResult> compileCuda(std::string_view source, std::string_view target,
                                const NvrtcOptions &options = {});

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_NVRTC_H
