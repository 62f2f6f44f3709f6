// What can be known of cuDNN's row without a GPU: the graph of every kind of cell is accepted, and,
// with an H200 described to it, cuDNN's heuristics name engines for it.
#include "CudnnSdpa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;

namespace {

// cuDNN's own JSON of device properties, with an H200's figures.
const char *const h200 = R"({"deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000,
 "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
 "multiProcessorCount": 132, "warpSize": 32, "maxGridSize": [2147483647, 65535, 65535],
 "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
 "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
 "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
 "reservedSharedMemoryPerBlock": 1024, "totalGlobalMem": 150110011392, "l2CacheSize": 62914560,
 "oversizedSharedMemoryPerBlock": 0, "memoryBusWidth": 6144, "smCountOrigin": 0,
 "smClockRateKHz": 1980000, "memClockRateKHz": 3201000})";

Config cell(const char *regime, std::int64_t n, bool causal, const char *variant = nullptr) {
  Config c;
  c.regime = regime;
  c.batch = 4;
  c.n = n;
  c.hq = 32;
  c.hkv = 8;
  c.causal = causal;
  if (variant)
    c.variant = variant;
  return c;
}

/// Engines are named; or all that keeps them from it is the driver that this machine lacks.
void expectEngines(const cudnn::Problem &problem, const std::string &what) {
  const cudnn::Outlook o = cudnn::outlook(problem, h200, 90);
  EXPECT_TRUE(o.described) << what << ": " << o.said;
  EXPECT_TRUE(o.accepted) << what << ": " << o.said;
  if (o.offered == 0)
    EXPECT_THAT(o.said, testing::AllOf(testing::HasSubstr("engineId"),
                                       testing::HasSubstr("libcuda == nullptr")))
        << what;
}

struct CudnnSdpa : testing::Test {
  void SetUp() override {
    if (const auto why = cudnn::missing())
      GTEST_SKIP() << *why;
    // From 9.20 on or so it loads nothing at all where there is no driver.
    const cudnn::Outlook o =
        cudnn::outlook(*cudnn::Problem::of(cell("prefill", 1024, false)), h200, 90);
    if (o.said.find("SUBLIBRARY_LOADING_FAILED") != std::string::npos)
      GTEST_SKIP() << "this cuDNN does nothing without a driver: " << o.said;
  }
};

} // namespace

TEST_F(CudnnSdpa, HeuristicsNameEnginesForEveryKindOfCell) {
  for (bool causal : {false, true})
    for (const char *dtype : {"bf16", "fp16"})
      for (std::int64_t d : {64, 128}) {
        Config c = cell("prefill", 1000, causal);
        c.dtype = dtype;
        c.headDim = d;
        expectEngines(*cudnn::Problem::of(c), c.label());
      }
  for (std::int64_t page : {0, 16, 64}) {
    Config c = cell("decode", 4096, false);
    if (page)
      c.pageSize = page;
    expectEngines(*cudnn::Problem::of(c), c.label());
  }
  for (const char *variant : {"window-256", "softcap-30", "alibi"}) {
    const Config c = cell("prefill", 1024, true, variant);
    expectEngines(*cudnn::Problem::of(c), c.label());
  }
}

TEST_F(CudnnSdpa, HeuristicsNameEnginesForUnequalAndVariableLengths) {
  cudnn::Problem p = *cudnn::Problem::of(cell("prefill", 1024, true));
  p.lenQ = 256;
  expectEngines(p, "bottom-right");
  p.bottomRight = false;
  expectEngines(p, "top-left");
  p.bottomRight = true;
  p.window = 128;
  expectEngines(p, "window, bottom-right");
  p = *cudnn::Problem::of(cell("prefill", 1024, true));
  p.varlen = true;
  expectEngines(p, "variable lengths");
}

TEST_F(CudnnSdpa, WhatTheFrontendRefusesIsSaid) {
  cudnn::Problem p = *cudnn::Problem::of(cell("prefill", 1024, false));
  p.headDim = 100;
  const cudnn::Outlook o = cudnn::outlook(p, h200, 90);
  EXPECT_FALSE(o.described);
  EXPECT_THAT(o.said, testing::HasSubstr("multiple of 8"));
}

TEST(CudnnProblem, CellsThatItHasNoFormForAreRefused) {
  Config c = cell("prefill", 512, true, "document-100");
  EXPECT_THAT(cudnn::Problem::of(c).status().message(), testing::HasSubstr("document-100"));
  c = cell("prefill", 512, true);
  c.dtype = "fp32";
  EXPECT_EQ(cudnn::Problem::of(c).status().code(), StatusCode::Unsupported);
}

TEST(CudnnProblem, ADecodeHasNoCausalMaskAndPagesAreCounted) {
  Config c = cell("decode", 100, true);
  c.pageSize = 16;
  const cudnn::Problem p = *cudnn::Problem::of(c);
  EXPECT_FALSE(p.causal);
  EXPECT_EQ(p.pages, 4 * 7);
}

TEST(CudnnProblem, SlopesAreThoseOfTheTruth) {
  const std::vector<float> eight = cudnn::alibiSlopes(8), six = cudnn::alibiSlopes(6);
  EXPECT_FLOAT_EQ(eight[0], 0.5f);
  EXPECT_FLOAT_EQ(eight[7], 1 / 256.f);
  // Four heads by powers of 2^-2, then every other one of the next power of two.
  EXPECT_FLOAT_EQ(six[3], 1 / 256.f);
  EXPECT_FLOAT_EQ(six[4], 0.5f);
  EXPECT_FLOAT_EQ(six[5], 0.125f);
}
