// Facts read from assembler logs.
#include "attnc/Runtime/AssemblerLog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

constexpr const char *twoKernels =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
    "ptxas info    : Function properties for first\n"
    "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0]\n"
    "ptxas info    : Compile time = 11.399 ms\n"
    "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
    "ptxas info    : Function properties for second\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, 364 bytes cmem[0]\n"
    "info    : used 9 registers, used 0 barriers, 0 stack, 2048 bytes smem, 0 bytes lmem\n";

TEST(AssemblerLog, ResourcesOfEachKernel) {
  const std::vector<KernelResources> kernels = parseResources(twoKernels);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].entry, "first");
  EXPECT_EQ(kernels[0].registers, 255);
  EXPECT_EQ(kernels[0].stackBytes, 16);
  EXPECT_EQ(kernels[0].spillStoreBytes, 12);
  EXPECT_EQ(kernels[0].spillLoadBytes, 20);
  EXPECT_EQ(kernels[0].sharedBytes, 1024);
  EXPECT_EQ(kernels[0].barriers, 1);
  EXPECT_EQ(kernels[1].entry, "second");
  EXPECT_EQ(kernels[1].registers, 8);
  EXPECT_EQ(kernels[1].spillStoreBytes, 0);
  EXPECT_EQ(kernels[1].sharedBytes, 0);
}

TEST(AssemblerLog, SpillsAndPerformanceAdviceAreWarnings) {
  EXPECT_THAT(
      parseWarnings(twoKernels),
      ElementsAre("kernel first spills: 12 bytes stored, 20 bytes loaded with 255 registers"));
  EXPECT_THAT(
      parseWarnings("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                    "instructions are serialized due to x in function 'f'\n"
                    "ptxas info    : (C7508) setmaxnreg ignored to maintain minimum requirements\n"
                    "ptxas info    : (C7508) setmaxnreg ignored to maintain minimum requirements\n"
                    "ptxas warning : Value of threads per SM is out of range\n"),
      ElementsAre(HasSubstr("C7510"), HasSubstr("C7508"), HasSubstr("threads per SM")));
  EXPECT_THAT(parseWarnings("ptxas info    : 0 bytes gmem\n"), IsEmpty());
}

TEST(AssemblerLog, FirstErrorLine) {
  EXPECT_EQ(
      firstErrorLine("ptxas info : x\nptxas a.ptx, line 9; error   : Unknown modifier '.foo'\n"
                     "ptxas fatal   : aborted\n"),
      "ptxas a.ptx, line 9; error   : Unknown modifier '.foo'");
  EXPECT_EQ(firstErrorLine("\n  ptxas fatal   : Value 'sm_77' is not defined\n"),
            "ptxas fatal   : Value 'sm_77' is not defined");
  EXPECT_EQ(firstErrorLine("ptxas v.ptx, line 1; fatal   : Unsupported .version 99.9\n"
                           "ptxas fatal   : Ptx assembly aborted due to errors\n"),
            "ptxas v.ptx, line 1; fatal   : Unsupported .version 99.9");
  EXPECT_EQ(firstErrorLine("\n\nsomething else\n"), "something else");
  EXPECT_EQ(firstErrorLine(""), "(no log)");
}

TEST(AssemblerLog, OddLogsDoNotConfuse) {
  EXPECT_THAT(parseResources(""), IsEmpty());
  EXPECT_THAT(parseResources("ptxas info : Used 8 registers\n"), IsEmpty());
  const auto kernels =
      parseResources("Compiling entry function 'a' for 'sm_80'\nUsed x registers, bytes smem\n"
                     "Compiling entry function 'unterminated\n"
                     "99999999999999999999 bytes stack frame\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].registers, -1);
  EXPECT_EQ(kernels[1].entry, "");
  EXPECT_EQ(kernels[1].stackBytes, -1);
}

} // namespace
