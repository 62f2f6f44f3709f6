// Which kernels a launch really runs: names, grids and blocks, by CUPTI's callbacks where libcupti
// can be loaded. Nothing is timed here.
#ifndef ATTNC_BENCH_KERNELPROBE_H
#define ATTNC_BENCH_KERNELPROBE_H

#include "Config.h"

#include <functional>
#include <string>

namespace attnc::bench {

/// The row's `dispatch` of what \p body launches, \p intended being its family. Without CUPTI
/// `observed` is "unprobed" and `why_unprobed` says why. A failure of \p body is left to the
/// caller.
Json probeKernels(const std::string &intended, const std::function<Status()> &body);

} // namespace attnc::bench

#endif // ATTNC_BENCH_KERNELPROBE_H
