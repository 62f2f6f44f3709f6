// Order statistics of samples.
#include "Statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnc::bench {

double median(std::vector<double> samples) {
  if (samples.empty())
    return std::numeric_limits<double>::quiet_NaN();
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  return n % 2 ? samples[n / 2] : 0.5 * (samples[n / 2 - 1] + samples[n / 2]);
}

double medianAbsoluteDeviation(const std::vector<double> &samples) {
  const double m = median(samples);
  std::vector<double> distance;
  for (double s : samples)
    distance.push_back(std::abs(s - m));
  return median(std::move(distance));
}

double relativeNoise(std::vector<double> samples) {
  const std::size_t n = samples.size();
  if (n < 6)
    return std::numeric_limits<double>::infinity();
  std::sort(samples.begin(), samples.end());
  // Ranks of the binomial(n, 1/2) interval, normal approximation, rounded outwards.
  const double spread = 0.98 * std::sqrt(double(n));
  const auto low = std::size_t(std::max(0.0, std::floor(0.5 * double(n) - spread) - 1));
  const std::size_t high = std::min(n - 1, std::size_t(std::ceil(0.5 * double(n) + spread)));
  const double m = median(samples);
  if (!(m > 0))
    return std::numeric_limits<double>::infinity();
  return 0.5 * (samples[high] - samples[low]) / m;
}

} // namespace attnc::bench
