// Which family a kernel belongs to, by its name: what the row's `dispatch.observed` says.
#ifndef ATTNC_BENCH_FAMILIES_H
#define ATTNC_BENCH_FAMILIES_H

#include <string>
#include <vector>

namespace attnc::bench {

/// "cudnn", "pytorch-flash", "flash-attn", "cutlass-fmha", "flashinfer", "triton", "attnc",
/// "hand-written", "unfused-gemm", or "unknown".
std::string kernelFamily(const std::string &name);

/// Family of a whole launch: that of the first kernel with an attention family, else
/// "unfused-gemm" if there is a matrix product, else "unknown".
std::string launchFamily(const std::vector<std::string> &names);

/// Demangles C++ names as far as the runtime library can.
std::string demangle(const std::string &name);

} // namespace attnc::bench

#endif // ATTNC_BENCH_FAMILIES_H
