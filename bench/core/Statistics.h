// What is computed from samples: median, spread, and the noise of the median. Pure functions.
#ifndef ATTNC_BENCH_STATISTICS_H
#define ATTNC_BENCH_STATISTICS_H

#include <vector>

namespace attnc::bench {

/// The median; NaN for no samples.
double median(std::vector<double> samples);

/// Median absolute deviation from the median; NaN for no samples.
double medianAbsoluteDeviation(const std::vector<double> &samples);

/// Half the width of a distribution-free 95% interval of the median (order statistics), relative to
/// the median. Infinity for fewer than 6 samples, which have no such interval.
double relativeNoise(std::vector<double> samples);

} // namespace attnc::bench

#endif // ATTNC_BENCH_STATISTICS_H
