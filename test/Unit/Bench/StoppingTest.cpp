// Statistics of samples and when a repetition stops.
#include "Stopping.h"
#include "Statistics.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace attnc::bench;

TEST(Statistics, MedianAndDeviation) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_EQ(medianAbsoluteDeviation({1, 1, 2, 2, 4, 6, 9}), 1);
}

TEST(Statistics, NoiseIsHalfTheOrderStatisticIntervalOverTheMedian) {
  EXPECT_TRUE(std::isinf(relativeNoise({1, 1, 1, 1, 1})));
  EXPECT_EQ(relativeNoise({5, 5, 5, 5, 5, 5}), 0);
  // 100 values 1..100: ranks 50 -+ 9.8, rounded outwards to 39 and 60 from 0.
  std::vector<double> v;
  for (int i = 1; i <= 100; ++i)
    v.push_back(i);
  EXPECT_NEAR(relativeNoise(v), 0.5 * (61 - 40) / 50.5, 1e-12);
}

TEST(Statistics, NoiseShrinksWithSamplesOfTheSameSpread) {
  std::vector<double> few, many;
  for (int i = 0; i < 16; ++i)
    few.push_back(100 + i % 8);
  for (int i = 0; i < 400; ++i)
    many.push_back(100 + i % 8);
  EXPECT_GT(relativeNoise(few), relativeNoise(many));
}

TEST(Stopping, NeedsSamplesAndQuiet) {
  StopLimits limits;
  limits.minSamples = 10;
  limits.noise = 0.01;
  limits.capSeconds = 5;
  const StoppingRule rule(limits);
  EXPECT_FALSE(rule.done(std::vector<double>(9, 7.0), 0.1));
  EXPECT_TRUE(rule.done(std::vector<double>(10, 7.0), 0.1));
  std::vector<double> noisy;
  for (int i = 0; i < 20; ++i)
    noisy.push_back(i % 2 ? 100 : 200);
  EXPECT_FALSE(rule.done(noisy, 0.1));
  EXPECT_EQ(rule.unmet(noisy), std::vector<std::string>{"noise"});
}

TEST(Stopping, TheCapEndsItAndNamesWhatIsUnmet) {
  StopLimits limits;
  limits.minSamples = 10;
  limits.capSeconds = 1;
  const StoppingRule rule(limits);
  const std::vector<double> three = {1, 2, 3};
  EXPECT_FALSE(rule.done(three, 0.5));
  EXPECT_TRUE(rule.done(three, 1.0));
  EXPECT_EQ(rule.unmet(three), (std::vector<std::string>{"min_samples", "noise"}));
  // Time alone never ends a repetition without a sample.
  EXPECT_FALSE(rule.done({}, 100));
}

TEST(Stopping, CriteriaArePluggable) {
  class Odd : public StoppingCriterion {
  public:
    const char *name() const override { return "odd"; }
    bool met(const std::vector<double> &samples) const override { return samples.size() % 2; }
  };
  StopLimits limits;
  limits.minSamples = 1;
  limits.noise = 1;
  StoppingRule rule(limits);
  rule.add(std::make_unique<Odd>());
  EXPECT_FALSE(rule.done(std::vector<double>(8, 1.0), 0));
  EXPECT_TRUE(rule.done(std::vector<double>(9, 1.0), 0));
}

TEST(Stopping, MostSamplesEndIt) {
  StopLimits limits;
  limits.maxSamples = 12;
  const StoppingRule rule(limits);
  std::vector<double> v;
  for (int i = 0; i < 12; ++i)
    v.push_back(i + 1);
  EXPECT_TRUE(rule.done(v, 0));
}
