// Which code of a package runs on which device.
#include "attnc/Runtime/Executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::rt;
using ::testing::HasSubstr;

namespace {

std::string pathOf(const char *target, const char *device, bool cubin = true, bool ptx = true) {
  Result<LoadPath> path = chooseLoadPath(target, device, cubin, ptx);
  if (!path)
    return path.status().code() == StatusCode::Unsupported ? "refused" : "error";
  return *path == LoadPath::Cubin ? "cubin" : "ptx";
}

TEST(LoadPath, CubinsRunWithinAMajorVersion) {
  EXPECT_EQ(pathOf("sm_80", "sm_80"), "cubin");
  EXPECT_EQ(pathOf("sm_80", "sm_89"), "cubin");
  EXPECT_EQ(pathOf("sm_89", "sm_80"), "refused");
  EXPECT_EQ(pathOf("sm_80", "sm_90"), "ptx");
  EXPECT_EQ(pathOf("sm_80", "sm_120"), "ptx");
  EXPECT_EQ(pathOf("sm_80", "sm_90", true, false), "refused");
}

TEST(LoadPath, ArchitectureSpecificCodeRunsOnItsOwnVersionOnly) {
  EXPECT_EQ(pathOf("sm_90a", "sm_90"), "cubin");
  EXPECT_EQ(pathOf("sm_90a", "sm_90", false), "ptx");
  EXPECT_EQ(pathOf("sm_90a", "sm_100"), "refused");
  EXPECT_EQ(pathOf("sm_90a", "sm_120"), "refused");
  EXPECT_EQ(pathOf("sm_100a", "sm_103"), "refused");
  EXPECT_EQ(pathOf("sm_100f", "sm_103"), "cubin");
  EXPECT_EQ(pathOf("sm_100f", "sm_120"), "refused");
}

TEST(LoadPath, RefusalsSayWhatToCompileFor) {
  EXPECT_THAT(chooseLoadPath("sm_90a", "sm_80", true, true).status().message(),
              HasSubstr("compiled for sm_90a; this device is sm_80: compile the spec with --target "
                        "sm_80"));
  EXPECT_THAT(chooseLoadPath("sm_80", "sm_90", true, false).status().message(),
              HasSubstr("only a cubin for sm_80"));
  EXPECT_EQ(pathOf("gfx90", "sm_90"), "error");
}

} // namespace
