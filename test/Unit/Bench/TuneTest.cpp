// The search space of `tune` and its verdict.
#include "TuneJudge.h"
#include "TuneSpace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TuneSpace, CombinesAllValuesOnceAndLeavesOutTheCompilersChoice) {
  const TuneSpace space = *parseTuneSpace("block_n=32,64;stages=2,3");
  EXPECT_THAT(tuneCandidates({space}, {{"block_n", 64}, {"stages", 2}, {"warps", 4}}),
              ElementsAre("block_n=32,stages=2", "block_n=32,stages=3", "block_n=64,stages=3"));
  // A field that the compiler did not tell of is never its choice; two spaces overlap once.
  EXPECT_THAT(tuneCandidates({*parseTuneSpace("new=1"), *parseTuneSpace("new=1,2")}, {}),
              ElementsAre("new=1", "new=2"));
}

TEST(TuneSpace, WhatIsNoSpaceIsNamed) {
  for (const char *text : {"", "block_n", "=3", "block_n=", "block_n=a", "block_n=1;;", "n=-1"})
    EXPECT_THAT(parseTuneSpace(text).status().message(), HasSubstr("is not FIELD=VALUE")) << text;
}

TEST(TuneSpace, EveryScheduleHasAlternatives) {
  for (const char *target : {"host", "sm_80", "sm_90a"})
    for (bool decode : {false, true}) {
      std::map<std::string, std::int64_t> chosen = {{"warp_specialized", 0}};
      if (std::string(target) == "sm_90a" && !decode)
        chosen["warp_specialized"] = 1;
      const auto candidates = tuneCandidates(defaultTuneSpaces(target, decode, chosen), chosen);
      EXPECT_GT(candidates.size(), 3u) << target;
      EXPECT_LT(candidates.size(), 150u) << target;
    }
}

TEST(TuneJudge, RatiosArePairedByRepetition) {
  // The machine slows down from repetition to repetition; the candidate is 0.9 of the baseline in
  // each.
  const TuneTimes times = {
      {"base", {{0, {{0, 100}, {1, 120}, {2, 150}}}}},
      {"fast", {{0, {{0, 90}, {1, 108}, {2, 135}}}}},
      {"half", {{1, {{0, 10}}}}}, // Never ran in the baseline's cell.
  };
  const std::vector<TuneScore> scores = scoreCandidates(times, "base");
  ASSERT_EQ(scores.size(), 1u);
  EXPECT_EQ(scores[0].implementation, "fast");
  EXPECT_DOUBLE_EQ(scores[0].score, 0.9);
  EXPECT_EQ(tuneWinner(scores, 0.02)->implementation, "fast");
  EXPECT_FALSE(tuneWinner(scores, 0.2));
}

TEST(TuneJudge, AGainThatCostsAnotherCellIsRefused) {
  const TuneTimes times = {
      {"base", {{0, {{0, 100}}}, {1, {{0, 100}}}}},
      {"mixed", {{0, {{0, 50}}}, {1, {{0, 110}}}}},
      {"even", {{0, {{0, 90}}}, {1, {{0, 90}}}}},
  };
  const std::vector<TuneScore> scores = scoreCandidates(times, "base");
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].implementation, "mixed");
  EXPECT_EQ(tuneWinner(scores, 0.02)->implementation, "even");
}

TEST(TuneJudge, NothingToCompareIsNoWinner) {
  EXPECT_TRUE(scoreCandidates({}, "base").empty());
  EXPECT_TRUE(scoreCandidates({{"a", {{0, {{0, 1}}}}}}, "base").empty());
  EXPECT_FALSE(tuneWinner({}, 0.02));
}
