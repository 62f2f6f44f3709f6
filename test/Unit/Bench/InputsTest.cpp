// The generator: the same numbers in C++ and Python, close to normal, rounded to nearest even.
#include "Inputs.h"
#include "Command.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace attnc::bench;

TEST(Inputs, PythonMakesTheSame) {
  std::string expected;
  const std::uint64_t indices[] = {0, 1, 12345, 0xffffffffu, 0x100000000u, 0x1234567890u};
  for (std::uint32_t seed : {1u, 77u})
    for (auto tensor : {InputTensor::Q, InputTensor::K, InputTensor::V})
      for (std::uint64_t i : indices)
        expected += fmt::format("{}\n", std::lround(inputValue(seed, tensor, i) / 0.006765899f));
  const CommandResult run =
      runCommand({"python3", "-c",
                  "import sys; sys.path.insert(0, sys.argv[1]); import inputs\n"
                  "for s in (1, 77):\n"
                  "  for t in 'qkv':\n"
                  "    for i in (0, 1, 12345, 0xffffffff, 0x100000000, 0x1234567890):\n"
                  "      print(inputs.value(s, t, i))",
                  ATTNC_SOURCE_DIR "/bench/peers"},
                 60);
  EXPECT_EQ(run.standardOutput, expected) << run.standardError;
}

TEST(Inputs, AreCloseToNormal) {
  double sum = 0, squares = 0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = inputValue(1, InputTensor::Q, std::uint64_t(i));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
}

TEST(Inputs, RoundToNearestEven) {
  EXPECT_EQ(roundToDtype(1 + 0x1p-8f, "bf16"), 1.0f);
  EXPECT_EQ(roundToDtype(1 + 3 * 0x1p-8f, "bf16"), 1 + 0x1p-6f);
  EXPECT_EQ(roundToDtype(1 + 0x1p-11f, "fp16"), 1.0f);
  EXPECT_EQ(roundToDtype(1 + 3 * 0x1p-11f, "fp16"), 1 + 0x1p-9f);
  EXPECT_EQ(roundToDtype(2047.5f, "fp16"), 2048.0f);
  EXPECT_EQ(roundToDtype(-0.1f, "fp16"), -0.0999755859375f);
  EXPECT_EQ(roundToDtype(0x1p-24f, "fp16"), 0x1p-24f);
  EXPECT_EQ(halfBits(1.0f, "fp16"), 0x3c00);
  EXPECT_EQ(halfBits(-2.5f, "bf16"), 0xc020);
}

TEST(Inputs, CpuAttentionOfOneKeyIsItsValue) {
  Config c;
  c.n = 3;
  c.hq = 2;
  c.hkv = 1;
  c.headDim = 4;
  c.causal = true;
  const std::vector<double> o = cpuAttention(c, 5);
  for (int h = 0; h < 2; ++h)
    for (int d = 0; d < 4; ++d) // Row 0 sees key 0 only.
      EXPECT_EQ(o[std::size_t(h * 12 + d)],
                double(roundToDtype(inputValue(5, InputTensor::V, std::uint64_t(d)), "bf16")));
  // A window of one key shows every row its own value.
  c.variant = "window-1";
  const std::vector<double> own = cpuAttention(c, 5);
  EXPECT_EQ(own[8], double(roundToDtype(inputValue(5, InputTensor::V, 8), "bf16")));
}
