// The bar on a terminal, the heartbeat off it.
#include "Progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::HasSubstr;

TEST(Progress, HeartbeatOffATerminal) {
  double now = 100;
  std::string out;
  Progress p(10, false, [&](const std::string &s) { out += s; }, [&] { return now; }, 30);
  now += 10;
  p.update(1, "cell");
  EXPECT_EQ(out, "");
  now += 25;
  p.update(5, "cell five");
  EXPECT_EQ(out, "attn-bench: 5/10 (50%), 0:35 so far, 0:35 left: cell five\n");
}

TEST(Progress, BarWithEstimateOnATerminal) {
  double now = 0;
  std::string out;
  Progress p(4, true, [&](const std::string &s) { out += s; }, [&] { return now; });
  now = 60;
  p.update(1, "first");
  EXPECT_THAT(out, HasSubstr("1/4"));
  EXPECT_THAT(out, HasSubstr("left 3:00"));
  out.clear();
  p.note("a line");
  EXPECT_EQ(out, "\r\x1b[Ka line\n");
  EXPECT_LT(
      Progress(3, false, [](const std::string &) {}, [] { return 0.0; }).remainingSeconds(), 0);
}

TEST(Progress, Durations) {
  EXPECT_EQ(Progress::duration(5), "0:05");
  EXPECT_EQ(Progress::duration(3723), "1:02:03");
}
