// Times launches on the GPU with events. What a sample is:
//
//   eager:  [flush L2 if cold] event, launch, event
//   graph:  event, replay of a graph of n launches, event; divided by n
//
// Inside a cold graph the launches rotate over copies of the inputs that together exceed the L2
// three times, so that no launch finds what an earlier one read; where 128 copies are too small for
// that, the L2 is flushed before the replay. Nothing is subtracted.
#ifndef ATTNC_BENCH_GPUTIMER_H
#define ATTNC_BENCH_GPUTIMER_H

#include "GpuContext.h"
#include "Implementation.h"
#include "TimingRules.h"

#include <functional>

namespace attnc::bench {

/// Enqueues one launch that reads input copy number `copy`.
using Launch = std::function<Status(int copy)>;

/// Takes one eager time first (for the graph's size). \returns the launch's failure.
Result<std::unique_ptr<Timed>> makeGpuTimed(const GpuContext &context, const Config &config,
                                            int copies, Launch launch);

} // namespace attnc::bench

#endif // ATTNC_BENCH_GPUTIMER_H
