// A GPU as the bench sees it: inputs and truth of the current cell, timing, what can be known about
// the device. Implementations in process are made here.
#ifndef ATTNC_BENCH_GPUMACHINE_H
#define ATTNC_BENCH_GPUMACHINE_H

#include "Catalogue.h"
#include "Implementation.h"
#include "Spec.h"
#include "WorkerPeers.h"

namespace attnc::bench {

/// "NVIDIA H100 80GB HBM3" to "H100": the names of the published study.
std::string shortGpuName(const std::string &name);

class GpuMachine : public Machine, public OutputChecker {
public:
  /// \returns Environment where there is no driver or GPU, or no NVRTC (inputs and truth are made
  /// by kernels that it builds).
  static Result<std::unique_ptr<GpuMachine>> open(int ordinal, std::uint64_t seed);

  virtual std::int64_t l2Bytes() const = 0;
  /// What is written between cold samples.
  virtual std::int64_t flushBytes() const = 0;

  /// An implementation that runs in this process, of an entry that is not Python's.
  virtual std::unique_ptr<Implementation> make(const Selected &selected,
                                               const PackageSource &packages) = 0;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_GPUMACHINE_H
