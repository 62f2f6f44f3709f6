// The two rules of timing that both the core and its predictions of memory need; timing.py has the
// same ones.
#ifndef ATTNC_BENCH_TIMINGRULES_H
#define ATTNC_BENCH_TIMINGRULES_H

#include "Config.h"

namespace attnc::bench {

/// How many equal copies of the inputs a cell needs: 1 unless graph and cold, else enough to exceed
/// three times the L2, at most 128, at least 2.
int copiesNeeded(const Config &config, std::int64_t l2Bytes);

/// Whether the L2 is flushed before a sample: eager and cold; and a cold graph whose copies are too
/// small to do it. A graph that rotates is not flushed as well: the write-back of what the flush
/// left in the L2 would be in its time.
bool flushesBefore(const Config &config, int copies, std::int64_t l2Bytes);

/// Launches in one graph: a multiple of \p copies, together at least \p targetUs long.
int launchesInGraph(double launchUs, int copies, double targetUs = 200);

} // namespace attnc::bench

#endif // ATTNC_BENCH_TIMINGRULES_H
