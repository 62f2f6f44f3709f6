// On a GPU: the truth agrees with the CPU, wrong outputs are caught, baselines are right, the timer
// gives sane times. Skips, saying so, without a GPU.
#include "CudnnSdpa.h"
#include "GpuMachine.h"
#include "InProcess.h"

#include <gtest/gtest.h>

using namespace attnc::bench;

namespace {

struct BenchGpuTest : testing::Test {
  void SetUp() override {
    Result<std::unique_ptr<GpuContext>> opened = GpuContext::open(0, 1);
    if (!opened.ok())
      GTEST_SKIP() << opened.status().message();
    context = std::move(*opened);
  }

  std::unique_ptr<GpuCell> makeCell(const Config &c) {
    Result<GpuTensors> tensors =
        context->makeTensors(c, copiesNeeded(c, context->properties().l2Bytes));
    EXPECT_TRUE(tensors.ok()) << tensors.status().message();
    std::unique_ptr<GpuCell> cell(new GpuCell{*context, c, std::move(*tensors), nullptr});
    Result<std::unique_ptr<Truth>> truth = Truth::make(*context, c, cell->tensors);
    EXPECT_TRUE(truth.ok()) << truth.status().message();
    cell->truth = std::move(*truth);
    return cell;
  }

  void expectRight(std::unique_ptr<LaunchBuilder> builder, const Config &c) {
    const std::unique_ptr<GpuCell> cell = makeCell(c);
    auto implementation = makeInProcess("x", c.regime, std::move(builder), cell);
    Json incorrect;
    auto result = implementation->prepare(c, incorrect);
    ASSERT_TRUE(std::holds_alternative<Prepared>(result))
        << c.label() << ": " << std::get<Refusal>(result).status << ": "
        << std::get<Refusal>(result).reason << incorrect;
    auto samples = std::get<Prepared>(result).timed->sample(5);
    ASSERT_TRUE(std::holds_alternative<std::vector<double>>(samples));
    for (double us : std::get<std::vector<double>>(samples))
      EXPECT_GT(us, 0);
  }

  std::unique_ptr<GpuContext> context;
};

Config config(const char *regime, std::int64_t n, bool causal, std::int64_t d, const char *dtype,
              std::int64_t hkv = 2) {
  Config c;
  c.regime = regime;
  c.batch = 2;
  c.n = n;
  c.hq = 6;
  c.hkv = hkv;
  c.headDim = d;
  c.dtype = dtype;
  c.causal = causal;
  return c;
}

} // namespace

TEST_F(BenchGpuTest, TheReferenceAgreesWithTheCpu) {
  const Status s = Truth::selfCheck(*context);
  EXPECT_TRUE(s.ok()) << s.message();
}

TEST_F(BenchGpuTest, UnwrittenAndWrongOutputsAreCaught) {
  const std::unique_ptr<GpuCell> cell = makeCell(config("prefill", 100, true, 64, "bf16"));
  ASSERT_TRUE(cell->tensors.o->fill(0xff, context->stream()).ok());
  Result<Json> poisoned = cell->truth->check(cell->tensors.o->address());
  ASSERT_TRUE(poisoned.ok());
  EXPECT_FALSE(poisoned->at("pass").get<bool>());
  ASSERT_TRUE(cell->tensors.o->fill(0, context->stream()).ok());
  Result<Json> zero = cell->truth->check(cell->tensors.o->address());
  ASSERT_TRUE(zero.ok());
  EXPECT_FALSE(zero->at("pass").get<bool>());
}

TEST_F(BenchGpuTest, NaiveIsRight) {
  for (const char *dtype : {"bf16", "fp16", "fp32"}) {
    expectRight(makeNaiveBuilder(*context), config("prefill", 77, true, 40, dtype));
    expectRight(makeNaiveBuilder(*context), config("decode", 77, false, 64, dtype));
  }
}

TEST_F(BenchGpuTest, FlashIsRight) {
  for (std::int64_t d : {32, 64, 96, 128, 256})
    for (bool causal : {false, true})
      for (std::int64_t n : {1, 64, 333})
        expectRight(makeFlashBuilder(*context), config("prefill", n, causal, d, "bf16"));
  expectRight(makeFlashBuilder(*context), config("prefill", 200, true, 128, "fp16"));
}

TEST_F(BenchGpuTest, DecodeIsRight) {
  for (std::int64_t hkv : {1, 2, 3, 6})
    for (std::int64_t n : {1, 31, 1000, 5000})
      expectRight(makeDecodeBuilder(*context), config("decode", n, false, 128, "bf16", hkv));
  expectRight(makeDecodeBuilder(*context), config("decode", 700, false, 256, "fp16"));
  expectRight(makeDecodeBuilder(*context), config("decode", 700, false, 64, "bf16"));
}

TEST_F(BenchGpuTest, CudnnIsRight) {
  if (const auto why = cudnn::missing())
    GTEST_SKIP() << *why;
  for (bool causal : {false, true})
    for (std::int64_t n : {64, 333, 1024})
      expectRight(makeCudnnBuilder(*context), config("prefill", n, causal, 128, "bf16"));
  expectRight(makeCudnnBuilder(*context), config("prefill", 200, true, 64, "fp16"));
  for (std::int64_t n : {31, 1000, 5000})
    expectRight(makeCudnnBuilder(*context), config("decode", n, false, 128, "bf16"));
  Config c = config("decode", 1024, false, 128, "bf16");
  c.pageSize = 16;
  expectRight(makeCudnnBuilder(*context), c);
  for (const char *variant : {"window-100", "softcap-30", "alibi"}) {
    c = config("prefill", 512, true, 128, "bf16");
    c.variant = variant;
    expectRight(makeCudnnBuilder(*context), c);
  }
}

TEST_F(BenchGpuTest, GraphAndEagerTimesOfALongKernelAgree) {
  Config c = config("prefill", 2048, false, 128, "bf16");
  const std::unique_ptr<GpuCell> cell = makeCell(c);
  Result<std::unique_ptr<Launchable>> launch = makeFlashBuilder(*context)->build(*cell);
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  double times[2];
  for (int i = 0; i < 2; ++i) {
    c.launch = i ? "graph" : "eager";
    c.cache = "warm";
    Result<std::unique_ptr<Timed>> timed =
        makeGpuTimed(*context, c, 1, [&](int copy) { return (*launch)->launch(copy); });
    ASSERT_TRUE(timed.ok()) << timed.status().message();
    (*timed)->sample(5);
    std::vector<double> us = std::get<std::vector<double>>((*timed)->sample(21));
    std::sort(us.begin(), us.end());
    times[i] = us[10];
  }
  EXPECT_NEAR(times[0] / times[1], 1, 0.15);
}
