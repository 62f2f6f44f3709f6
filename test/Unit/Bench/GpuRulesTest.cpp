// The rules of GPU measuring that need no GPU: copies, graph sizes, families, names, windows, rows.
#include "Command.h"
#include "Families.h"
#include "GpuMachine.h"
#include "GpuTimer.h"
#include "NvmlMonitor.h"
#include "Truth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

using namespace attnc::bench;

TEST(GpuTimer, ColdGraphsRotateOverMoreThanTheCache) {
  Config c;
  c.regime = "decode";
  c.n = 8192;
  c.hq = 32;
  c.hkv = 8; // K and V are 32 MiB.
  c.launch = "graph";
  c.cache = "cold";
  const std::int64_t l2 = 60 << 20;
  const int copies = copiesNeeded(c, l2);
  EXPECT_GE(copies * c.tensorBytes(), 3 * l2);
  c.n = 1 << 24;
  EXPECT_EQ(copiesNeeded(c, l2), 2);
  c.n = 16;
  EXPECT_EQ(copiesNeeded(c, l2), 128);
  c.cache = "warm";
  EXPECT_EQ(copiesNeeded(c, l2), 1);
}

TEST(GpuTimer, FlushesOnlyWhereRotatingDoesNotDoIt) {
  Config c;
  c.regime = "decode";
  c.n = 8192;
  c.hq = 32;
  c.hkv = 8;
  c.cache = "cold";
  const std::int64_t l2 = 60 << 20;
  EXPECT_TRUE(flushesBefore(c, 1, l2));
  c.launch = "graph";
  EXPECT_FALSE(flushesBefore(c, copiesNeeded(c, l2), l2));
  c.n = 16;
  EXPECT_TRUE(flushesBefore(c, copiesNeeded(c, l2), l2));
  c.cache = "warm";
  EXPECT_FALSE(flushesBefore(c, 1, l2));
}

TEST(GpuTimer, GraphsHoldWholeRounds) {
  EXPECT_EQ(launchesInGraph(10, 1), 20);
  EXPECT_EQ(launchesInGraph(10, 8), 24);
  EXPECT_EQ(launchesInGraph(5000, 2), 2);
  EXPECT_EQ(launchesInGraph(0, 1), 256) << "a time of zero does not make an endless graph";
}

TEST(GpuTimer, TheWorkerHasTheSameRules) {
  std::string expected;
  for (std::int64_t n : {16, 4096, 1 << 20})
    for (double us : {0.0, 7.5, 1000.0}) {
      Config c;
      c.regime = "decode";
      c.n = n;
      c.launch = "graph";
      c.headDim = 64;
      const int copies = copiesNeeded(c, 50 << 20);
      expected += fmt::format("{} {}\n", copies, launchesInGraph(us, copies));
    }
  const CommandResult run =
      runCommand({"python3", "-c",
                  "import sys; sys.path.insert(0, sys.argv[1]); import timing\n"
                  "for n in (16, 4096, 1 << 20):\n"
                  "  for us in (0.0, 7.5, 1000.0):\n"
                  "    c = timing.copies_needed({'launch': 'graph', 'cache': 'cold'},\n"
                  "                             2 * 64 * 2 * (1 + n), 50 << 20)\n"
                  "    print(c, timing.launches_in_graph(us, c))",
                  ATTNC_SOURCE_DIR "/bench/peers"},
                 60);
  EXPECT_EQ(run.standardOutput, expected) << run.standardError;
}

TEST(Families, NamesOfRealKernels) {
  EXPECT_EQ(kernelFamily("_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsEEvv"),
            "pytorch-flash");
  EXPECT_EQ(kernelFamily("void flash::flash_fwd_splitkv_kernel<x>(y)"), "flash-attn");
  EXPECT_EQ(kernelFamily("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6"),
            "cudnn");
  EXPECT_EQ(kernelFamily("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(P)"), "cutlass-fmha");
  EXPECT_EQ(kernelFamily("void flashinfer::BatchDecodeWithPagedKVCacheKernel<x>"), "flashinfer");
  EXPECT_EQ(kernelFamily("triton_tem_fused_0"), "triton");
  EXPECT_EQ(kernelFamily("nvjet_tst_128x256_64x4"), "unfused-gemm");
  EXPECT_EQ(kernelFamily("bench_prefill_h32x8_d128_bf16"), "attnc");
  EXPECT_EQ(kernelFamily("flash_forward"), "hand-written");
  EXPECT_EQ(kernelFamily("void at::native::elementwise_kernel<4>"), "unknown");
  EXPECT_EQ(launchFamily({"elementwise", "nvjet_x", "softmax", "nvjet_y"}), "unfused-gemm");
  EXPECT_EQ(launchFamily({"nvjet_x", "triton_per_fused"}), "triton");
  EXPECT_EQ(launchFamily({}), "unknown");
}

TEST(GpuMachine, ShortNamesAreThoseOfTheStudy) {
  EXPECT_EQ(shortGpuName("NVIDIA H200"), "H200");
  EXPECT_EQ(shortGpuName("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(shortGpuName("NVIDIA A100-SXM4-40GB"), "A100");
  EXPECT_EQ(shortGpuName("NVIDIA GeForce RTX 5090"), "RTX 5090");
  EXPECT_EQ(shortGpuName("NVIDIA L40S"), "L40S");
  EXPECT_EQ(shortGpuName("NVIDIA A10"), "A10");
}

TEST(NvmlMonitor, SummarisesItsWindows) {
  std::vector<MonitorSample> s;
  for (int i = 0; i < 10; ++i)
    s.push_back({double(i), unsigned(1000 + i), 3000, 500000, 60, i == 4 ? 0x4ull : 0x1ull});
  const Json in = summarizeWindow(s, {{2.5, 4.5}, {8.95, 8.96}});
  EXPECT_EQ(in["clocks"]["sm_mhz"], 1004.0) << "3, 4, and 9 as the nearest to a short window";
  EXPECT_EQ(in["clocks"]["sm_mhz_min"], 1003.0);
  EXPECT_EQ(in["power_w"], 500.0);
  EXPECT_EQ(in["throttle"], Json::array({"sw_power_cap"})) << "idle is no reason";
  EXPECT_EQ(summarizeWindow(s, {{0.5, 1.5}})["throttle"], Json::array());
  EXPECT_TRUE(summarizeWindow({}, {{0, 1}})["clocks"].is_null());
  EXPECT_TRUE(summarizeWindow(s, {{100, 101}})["throttle"].is_null()) << "too far away";
}

TEST(Truth, SampledRowsIncludeTheEdgesOfEveryHead) {
  EXPECT_EQ(rowsToCheck(2, 3, 100), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  const std::vector<std::int64_t> rows = rowsToCheck(3, 1000, 30);
  EXPECT_EQ(rows.size(), 30u);
  const std::set<std::int64_t> unique(rows.begin(), rows.end());
  EXPECT_EQ(unique.size(), rows.size());
  for (std::int64_t head = 0; head < 3; ++head)
    for (std::int64_t i : {0, 1, 998, 999})
      EXPECT_TRUE(unique.count(head * 1000 + i));
}
