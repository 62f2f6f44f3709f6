// Real assembling, with whatever this machine has; each test says why when it is skipped.
#include "attnc/Runtime/Assemble.h"
#include "attnc/Runtime/FileIo.h"
#include "attnc/Runtime/Nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace attnc::rt;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

std::string smallPtx(const std::string &target, const std::string &add = "add.u32",
                     const std::string &version = "8.0") {
  return ".version " + version + "\n.target " + target + R"(
.address_size 64
.visible .entry add_one(.param .u64 p, .param .u32 n)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  .reg .pred %p;
  .shared .align 16 .b8 scratch[1024];
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p, %r2, %r1;
  @%p ret;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  )" + add +
         R"( %r3, %r3, 1;
  st.global.u32 [%rd3], %r3;
  st.shared.u32 [scratch], %r3;
  ret;
}
)";
}

struct TargetCase {
  const char *target;
  const char *ptxVersion;
};

constexpr TargetCase targets[] = {{"sm_80", "7.0"},  {"sm_86", "7.1"},   {"sm_89", "7.8"},
                                  {"sm_90a", "8.0"}, {"sm_100a", "8.6"}, {"sm_120", "8.7"}};

/// Runs the test for one assembler, or skips with the reason.
class AssembleTest : public ::testing::TestWithParam<Assembler> {
protected:
  void SetUp() override {
    const std::vector<AssemblerInfo> available = availableAssemblers();
    const auto it = std::find_if(available.begin(), available.end(),
                                 [](const AssemblerInfo &info) { return info.kind == GetParam(); });
    if (it == available.end())
      GTEST_SKIP() << assemblerName(GetParam()) << " is not on this machine";
    EXPECT_FALSE(it->path.empty());
    EXPECT_FALSE(it->version.empty());
    options.use = GetParam();
    options.name = "unit/test";
  }
  AssembleOptions options;
};

TEST_P(AssembleTest, EveryTargetGivesACubinAndItsResources) {
  for (const TargetCase &item : targets) {
    SCOPED_TRACE(item.target);
    Result<AssembleResult> result =
        assemble(smallPtx(item.target, "add.u32", item.ptxVersion), item.target, options);
    ASSERT_TRUE(result.ok()) << result.status().message() << "\n" << result.status().log();
    EXPECT_EQ(result->cubin.substr(0, 4), "\x7f"
                                          "ELF");
    ASSERT_EQ(result->kernels.size(), 1u) << result->log;
    EXPECT_EQ(result->kernels[0].entry, "add_one");
    EXPECT_GT(result->kernels[0].registers, 0);
    EXPECT_EQ(result->kernels[0].spillStoreBytes, 0);
    EXPECT_EQ(result->kernels[0].sharedBytes, 1024);
    EXPECT_TRUE(result->warnings.empty()) << result->warnings.front();
    EXPECT_EQ(result->assembler.kind, GetParam());
  }
}

TEST_P(AssembleTest, OlderCodeAssemblesForALaterDevice) {
  Result<AssembleResult> result = assemble(smallPtx("sm_80"), "sm_90", options);
  EXPECT_TRUE(result.ok()) << result.status().message();
}

TEST_P(AssembleTest, J8_RejectionShowsToolLineTargetAndKeepsThePtx) {
  const std::string ptx = smallPtx("sm_80", "add.foo");
  const Status status = assemble(ptx, "sm_80", options).status();
  EXPECT_EQ(status.code(), StatusCode::CompileFailed);
  EXPECT_THAT(status.message(), HasSubstr(assemblerName(GetParam())));
  EXPECT_THAT(status.message(), HasSubstr("unit/test"));
  EXPECT_THAT(status.message(), HasSubstr("sm_80"));
  EXPECT_THAT(status.message(), HasSubstr("Unknown modifier '.foo'"));
  EXPECT_THAT(status.log(), HasSubstr("Unexpected instruction types"));
  const std::size_t begin = status.message().rfind(' ') + 1;
  const std::string kept = status.message().substr(begin);
  Result<std::string> text = readFile(kept);
  ASSERT_TRUE(text.ok()) << status.message();
  EXPECT_EQ(*text, ptx);
  std::filesystem::remove(kept);
}

TEST_P(AssembleTest, J8_UnknownTargetAndVersionAreRejections) {
  options.keepRejectedPtx = false;
  const Status target = assemble(smallPtx("sm_80"), "sm_77", options).status();
  EXPECT_EQ(target.code(), StatusCode::CompileFailed);
  EXPECT_THAT(target.message(), HasSubstr("77"));
  EXPECT_THAT(target.message(), Not(HasSubstr("kept in")));
  const Status version = assemble(smallPtx("sm_80", "add.u32", "99.9"), "sm_80", options).status();
  EXPECT_EQ(version.code(), StatusCode::CompileFailed);
  EXPECT_THAT(version.message(), HasSubstr("99.9"));
}

TEST_P(AssembleTest, ANulByteOrEmptyInputIsARejection) {
  options.keepRejectedPtx = false;
  EXPECT_EQ(assemble("", "sm_80", options).status().code(), StatusCode::CompileFailed);
  EXPECT_EQ(assemble(std::string("\0garbage", 8), "sm_80", options).status().code(),
            StatusCode::CompileFailed);
}

TEST_P(AssembleTest, SpillsAreReported) {
  // 64 values that live across a barrier cannot stay in 32 registers.
  std::string body, sums;
  for (int i = 1; i <= 64; ++i) {
    const std::string r = "%v" + std::to_string(i);
    body += "  ld.volatile.global.u32 " + r + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    sums += "  st.volatile.global.u32 [%rd1+" + std::to_string(4 * (64 - i)) + "], " + r + ";\n";
  }
  const std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry spiller(.param .u64 p)\n{\n  .reg .b64 %rd<2>;\n"
                          "  .reg .b32 %v<65>;\n  ld.param.u64 %rd1, [p];\n" +
                          body + "  bar.sync 0;\n" + sums + "  ret;\n}\n";
  options.maxRegisters = 24;
  Result<AssembleResult> result = assemble(ptx, "sm_80", options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->kernels.size(), 1u);
  EXPECT_LE(result->kernels[0].registers, 24);
  EXPECT_GT(result->kernels[0].spillStoreBytes, 0) << result->log;
  ASSERT_FALSE(result->warnings.empty());
  EXPECT_THAT(result->warnings.back(), HasSubstr("spiller spills"));
}

INSTANTIATE_TEST_SUITE_P(Assemblers, AssembleTest,
                         ::testing::Values(Assembler::NvJitLink, Assembler::Ptxas),
                         [](const auto &info) { return std::string(assemblerName(info.param)); });

TEST(Assemble, ArgumentErrorsNeedNoAssembler) {
  EXPECT_EQ(assemble("", "compute_80").status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(assemble("", "sm_").status().code(), StatusCode::InvalidArgument);
  AssembleOptions options;
  options.optLevel = 9;
  EXPECT_EQ(assemble("", "sm_80", options).status().code(), StatusCode::InvalidArgument);
  options = {};
  options.use = Assembler::Nvrtc;
  EXPECT_EQ(assemble("", "sm_80", options).status().code(), StatusCode::InvalidArgument);
}

TEST(Assemble, X2_AMisspeltAssemblerIsAnError) {
  ::setenv("ATTNC_ASSEMBLER", "ptxass", 1);
  const Status status = assemble(smallPtx("sm_80"), "sm_80").status();
  ::unsetenv("ATTNC_ASSEMBLER");
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'ptxass'; allowed are nvjitlink, ptxas, driver"));
}

TEST(Assemble, APtxasThatDoesNotRunIsNone) {
  // As wrappers of removed toolkits do.
  Result<std::string> script =
      writeTemporaryFile("#!/bin/sh\necho gone >&2\nexit 127\n", "ptxas", "");
  ASSERT_TRUE(script.ok());
  std::filesystem::permissions(*script, std::filesystem::perms::owner_all);
  ::setenv("ATTNC_PTXAS", script->c_str(), 1);
  AssembleOptions options;
  options.use = Assembler::Ptxas;
  const Status status = assemble(smallPtx("sm_80"), "sm_80", options).status();
  const std::vector<AssemblerInfo> available = availableAssemblers();
  ::unsetenv("ATTNC_PTXAS");
  std::filesystem::remove(*script);
  EXPECT_EQ(status.code(), StatusCode::Environment);
  EXPECT_THAT(status.message(), HasSubstr("exit code 127: gone"));
  for (const AssemblerInfo &info : available)
    EXPECT_NE(info.kind, Assembler::Ptxas);
}

TEST(Assemble, TargetNames) {
  for (const char *name : {"sm_80", "sm_90a", "sm_100a", "sm_120", "sm_103f"})
    EXPECT_TRUE(isTargetName(name)) << name;
  for (const char *name : {"", "sm_", "sm_8", "sm_90b", "sm_9000", "SM_80", "sm_a", "sm_90aa"})
    EXPECT_FALSE(isTargetName(name)) << name;
}

class NvrtcTest : public ::testing::Test {
protected:
  void SetUp() override {
    const Status status = compileCuda("", "sm_90a").status();
    if (status.code() == StatusCode::Environment)
      GTEST_SKIP() << status.message();
  }
};

TEST_F(NvrtcTest, CompilesForEveryTarget) {
  for (const TargetCase &item : targets) {
    NvrtcOptions options;
    options.options = {"-DVALUE=7"};
    options.headers = {{"add.h", "__device__ inline int add(int a) { return a + VALUE; }"}};
    Result<NvrtcResult> result = compileCuda(
        "#include \"add.h\"\nextern \"C\" __global__ void addSeven(int *p) { *p = add(*p); }",
        item.target, options);
    ASSERT_TRUE(result.ok()) << item.target << ": " << result.status().message();
    EXPECT_THAT(result->ptx, HasSubstr(std::string(".target ") + item.target));
    EXPECT_EQ(result->assembled.cubin.substr(0, 4), "\x7f"
                                                    "ELF");
    ASSERT_EQ(result->assembled.kernels.size(), 1u) << result->assembled.log;
    EXPECT_EQ(result->assembled.kernels[0].entry, "addSeven");
    EXPECT_EQ(result->assembled.assembler.kind, Assembler::Nvrtc);
  }
}

TEST_F(NvrtcTest, ToolkitHeadersAreFound) {
  Result<NvrtcResult> result = compileCuda("#include <cuda_bf16.h>\n"
                                           "extern \"C\" __global__ void f(__nv_bfloat16 *p) {"
                                           " *p = __float2bfloat16(__bfloat162float(*p) + 1); }",
                                           "sm_90a");
  if (!result && result.status().log().find("cannot open source file") != std::string::npos)
    GTEST_SKIP() << "NVRTC is here without the toolkit's headers: " << result.status().message();
  EXPECT_TRUE(result.ok()) << result.status().log();
}

TEST_F(NvrtcTest, J8_ErrorsHaveTheLine) {
  const Status status = compileCuda("__global__ void f() { undeclared = 1; }", "sm_90a").status();
  EXPECT_EQ(status.code(), StatusCode::CompileFailed);
  EXPECT_THAT(status.message(), HasSubstr("kernel.cu(1): error"));
  EXPECT_THAT(status.message(), HasSubstr("sm_90a"));
  EXPECT_THAT(status.log(), HasSubstr("undeclared"));
}

TEST_F(NvrtcTest, UnknownOptionIsTheCallersFault) {
  NvrtcOptions options;
  options.options = {"--no-such-option"};
  EXPECT_EQ(compileCuda("", "sm_90a", options).status().code(), StatusCode::InvalidArgument);
}

} // namespace
