// Result codes to Status, with a made-up driver.
#include "StatusMapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::rt;
using ::testing::HasSubstr;

namespace {

cuda::DriverApi fakeDriver() {
  cuda::DriverApi api;
  api.cuGetErrorName = [](cuda::CUresult result, const char **name) -> cuda::CUresult {
    if (result == 12345)
      return cuda::errorInvalidValue;
    *name = "CUDA_ERROR_FAKE";
    return cuda::success;
  };
  api.cuGetErrorString = [](cuda::CUresult, const char **text) -> cuda::CUresult {
    *text = "a fake reason";
    return cuda::success;
  };
  return api;
}

TEST(StatusMapping, MessageHasCallNameKernelAndSm) {
  const Status status =
      driverStatus(fakeDriver(), cuda::errorInvalidValue, "cuLaunchKernel", {"attn_main", "sm_90"});
  EXPECT_EQ(status.message(), "cuLaunchKernel failed: CUDA_ERROR_FAKE (1, a fake reason) "
                              "[kernel attn_main, sm_90]");
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_TRUE(driverStatus(fakeDriver(), cuda::success, "cuInit").ok());
}

TEST(StatusMapping, UnknownCodesStillGiveAMessage) {
  EXPECT_EQ(driverStatus(fakeDriver(), 12345, "cuX").message(),
            "cuX failed: unknown CUresult (12345, a fake reason)");
  EXPECT_THAT(driverStatus({}, 700, "cuX").message(), HasSubstr("unknown CUresult (700"));
}

TEST(StatusMapping, CodesFollowTheMeaning) {
  const auto codeOf = [](cuda::CUresult result) {
    return driverStatus(fakeDriver(), result, "cuX").code();
  };
  EXPECT_EQ(codeOf(cuda::errorOutOfMemory), StatusCode::OutOfMemory);
  EXPECT_EQ(codeOf(cuda::errorNoBinaryForGpu), StatusCode::Unsupported);
  EXPECT_EQ(codeOf(cuda::errorInvalidPtx), StatusCode::CompileFailed);
  EXPECT_EQ(codeOf(cuda::errorIllegalAddress), StatusCode::Internal);
  EXPECT_EQ(codeOf(cuda::errorNoDevice), StatusCode::Environment);
}

TEST(StatusMapping, J15_OldDriverSaysWhatToDo) {
  const Status status =
      driverStatus(fakeDriver(), cuda::errorUnsupportedPtxVersion, "cuModuleLoadDataEx");
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), HasSubstr("load a cubin, or update the driver"));
}

TEST(StatusMapping, TheStubLibraryIsNamed) {
  EXPECT_THAT(driverStatus(fakeDriver(), cuda::errorStubLibrary, "cuInit").message(),
              HasSubstr("lib/stubs"));
}

TEST(StatusMapping, OtherLibraries) {
  EXPECT_EQ(nvJitLinkStatus(4, "nvJitLinkAddData").message(),
            "nvJitLinkAddData failed: NVJITLINK_ERROR_PTX_COMPILE (4)");
  EXPECT_EQ(nvJitLinkStatus(17, "x").code(), StatusCode::Unsupported);
  EXPECT_THAT(nvJitLinkStatus(99, "x").message(), HasSubstr("unknown nvJitLinkResult (99)"));
  EXPECT_THAT(nvJitLinkStatus(-1, "x").message(), HasSubstr("unknown"));
  EXPECT_TRUE(nvJitLinkStatus(0, "x").ok());
  EXPECT_EQ(nvrtcStatus({}, 6, "nvrtcCompileProgram").code(), StatusCode::CompileFailed);
  EXPECT_EQ(nvrtcStatus({}, 1, "x").code(), StatusCode::OutOfMemory);
  EXPECT_EQ(nvmlStatus({}, 3, "nvmlInit").code(), StatusCode::Environment);
}

} // namespace
