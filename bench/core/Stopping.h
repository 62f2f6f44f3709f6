// When a repetition has enough samples. Criteria are pluggable: each says whether it is met; the
// rule stops when all are, or when the time is up, and then names those that were not.
#ifndef ATTNC_BENCH_STOPPING_H
#define ATTNC_BENCH_STOPPING_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attnc::bench {

class StoppingCriterion {
public:
  virtual ~StoppingCriterion() = default;
  /// The tag in the row's `stop.unmet`.
  virtual const char *name() const = 0;
  virtual bool met(const std::vector<double> &samples) const = 0;
};

/// "min_samples": at least \p count.
std::unique_ptr<StoppingCriterion> minSamples(int count);
/// "noise": relativeNoise at most \p target.
std::unique_ptr<StoppingCriterion> noiseAtMost(double target);

struct StopLimits {
  int minSamples = 20;
  double noise = 0.01;
  double capSeconds = 2;
  int maxSamples = 1000;
};

class StoppingRule {
public:
  explicit StoppingRule(const StopLimits &limits);

  void add(std::unique_ptr<StoppingCriterion> criterion) {
    criteria.push_back(std::move(criterion));
  }

  /// \p spentSeconds is the time this repetition has used, its own turns only.
  bool done(const std::vector<double> &samples, double spentSeconds) const;
  /// Criteria that do not hold for \p samples.
  std::vector<std::string> unmet(const std::vector<double> &samples) const;

private:
  StopLimits limits;
  std::vector<std::unique_ptr<StoppingCriterion>> criteria;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_STOPPING_H
