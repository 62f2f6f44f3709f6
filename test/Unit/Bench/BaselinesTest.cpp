// The hand-written kernels compile, assembler included, for every target in every form that the
// bench builds, and spill next to nothing. Needs NVRTC, no GPU.
#include "attnc/Runtime/Nvrtc.h"

#include <gtest/gtest.h>

using namespace attnc::rt;

namespace {

const char *const truth =
#include "truth.cu.inc"
    ;
const char *const naive =
#include "naive.cu.inc"
    ;
const char *const flash =
#include "flash.cu.inc"
    ;
const char *const decode =
#include "decode.cu.inc"
    ;

/// False if there is no NVRTC here.
void compile(const char *source, const char *target, std::vector<std::string> options) {
  NvrtcOptions nvrtc;
  nvrtc.options = std::move(options);
  nvrtc.toolkitHeaders = false;
  const Result<NvrtcResult> result = compileCuda(source, target, nvrtc);
  if (!result.ok() && result.status().code() == StatusCode::Environment)
    GTEST_SKIP() << result.status().message();
  ASSERT_TRUE(result.ok()) << target << "\n" << result.status().log();
  for (const KernelResources &k : result->assembled.kernels)
    // At D 256 some assemblers spill a register or three, outside the loops.
    EXPECT_LE(k.spillStoreBytes, 16) << k.entry << " on " << target;
}

struct BaselinesTest : testing::TestWithParam<const char *> {};

} // namespace

TEST_P(BaselinesTest, Truth) { compile(truth, GetParam(), {}); }

TEST_P(BaselinesTest, Naive) {
  for (const char *dtype : {"-DDT=0", "-DDT=1", "-DDT=2"})
    compile(naive, GetParam(), {dtype});
}

TEST_P(BaselinesTest, Flash) {
  for (const char *d : {"-DD=64", "-DD=128", "-DD=256"})
    compile(flash, GetParam(), {d, "-DDT=0", "-DCAUSAL=1"});
  compile(flash, GetParam(), {"-DD=96", "-DDT=1", "-DCAUSAL=0"});
}

TEST_P(BaselinesTest, Decode) {
  compile(decode, GetParam(), {"-DD=64", "-DDT=1", "-DG=4"});
  compile(decode, GetParam(), {"-DD=128", "-DDT=0", "-DG=4"});
  compile(decode, GetParam(), {"-DD=128", "-DDT=0", "-DG=1"});
  compile(decode, GetParam(), {"-DD=256", "-DDT=0", "-DG=2"});
}

INSTANTIATE_TEST_SUITE_P(Targets, BaselinesTest,
                         testing::Values("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"));
