// The built-in criteria and the rule that combines them.
#include "Stopping.h"

#include "Statistics.h"

namespace attnc::bench {

namespace {

class MinSamples : public StoppingCriterion {
public:
  explicit MinSamples(int count) : count(count) {}
  const char *name() const override { return "min_samples"; }
  bool met(const std::vector<double> &samples) const override {
    return samples.size() >= std::size_t(count);
  }

private:
  int count;
};

class Noise : public StoppingCriterion {
public:
  explicit Noise(double target) : target(target) {}
  const char *name() const override { return "noise"; }
  bool met(const std::vector<double> &samples) const override {
    return relativeNoise(samples) <= target;
  }

private:
  double target;
};

} // namespace

std::unique_ptr<StoppingCriterion> minSamples(int count) {
  return std::make_unique<MinSamples>(count);
}

std::unique_ptr<StoppingCriterion> noiseAtMost(double target) {
  return std::make_unique<Noise>(target);
}

StoppingRule::StoppingRule(const StopLimits &limits) : limits(limits) {
  add(minSamples(limits.minSamples));
  add(noiseAtMost(limits.noise));
}

bool StoppingRule::done(const std::vector<double> &samples, double spentSeconds) const {
  if (samples.empty())
    return false; // A row without a sample says nothing: the first turn always runs.
  if (spentSeconds >= limits.capSeconds || samples.size() >= std::size_t(limits.maxSamples))
    return true;
  return unmet(samples).empty();
}

std::vector<std::string> StoppingRule::unmet(const std::vector<double> &samples) const {
  std::vector<std::string> out;
  for (const auto &criterion : criteria)
    if (!criterion->met(samples))
      out.push_back(criterion->name());
  return out;
}

} // namespace attnc::bench
