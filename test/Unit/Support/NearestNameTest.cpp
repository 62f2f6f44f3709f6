// Suggestions in error messages.
#include "attnc/Support/NearestName.h"
#include "gtest/gtest.h"

using namespace attnc;

TEST(NearestName, FindsTypos) {
  llvm::StringRef names[] = {"causal", "window", "score", "mask", "q"};
  EXPECT_EQ(nearestName("casual", names), "causal");
  EXPECT_EQ(nearestName("Windw", names), "window");
  EXPECT_EQ(nearestName("masks", names), "mask");
  EXPECT_EQ(didYouMean("scoer", names), "; did you mean 'score'?");
}

TEST(NearestName, StaysSilentWhenNothingIsNear) {
  llvm::StringRef names[] = {"causal", "window", "q"};
  EXPECT_EQ(nearestName("softcap", names), "");
  EXPECT_EQ(nearestName("x", names), "");
  EXPECT_EQ(didYouMean("", names), "");
}
