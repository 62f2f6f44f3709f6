// Where CUDA is searched, with environments made up for the test, and library loading errors.
#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/CudaApis.h"
#include "attnc/Runtime/DynamicLibrary.h"
#include "attnc/Runtime/FileIo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <unistd.h>

using namespace attnc::rt;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

namespace {

/// A directory tree that looks like a toolkit and a Python environment, removed at the end.
class CudaLocationsTest : public ::testing::Test {
protected:
  void SetUp() override {
    root = fs::temp_directory_path() / ("attnc-locations-" + std::to_string(::getpid()));
    for (const char *directory : {"toolkit/lib64", "toolkit/bin", "toolkit/include",
                                  "venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib",
                                  "venv/lib/python3.11/site-packages/nvidia/cu13/bin"})
      fs::create_directories(root / directory);
  }
  void TearDown() override { fs::remove_all(root); }

  EnvironmentLookup environment() {
    return [this](const std::string &name) -> std::optional<std::string> {
      auto it = variables.find(name);
      return it == variables.end() ? std::nullopt : std::optional<std::string>(it->second);
    };
  }
  CudaLocations find() { return CudaLocations::find(environment()); }
  std::string at(const std::string &path) { return (root / path).string(); }
  void makeProgram(const std::string &path) {
    ASSERT_TRUE(writeFileAtomically(at(path), "#!/bin/sh\n").ok());
    fs::permissions(at(path), fs::perms::owner_all);
  }

  fs::path root;
  std::map<std::string, std::string> variables;
};

TEST_F(CudaLocationsTest, J9_LeadingColon) {
  variables["CUDA_HOME"] = ":" + at("toolkit");
  const CudaLocations found = find();
  ASSERT_FALSE(found.libraryDirs.empty());
  EXPECT_EQ(found.libraryDirs.front(), at("toolkit/lib64"));
  EXPECT_EQ(found.binaryDirs.front(), at("toolkit/bin"));
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("CUDA_HOME is ':")));
  EXPECT_THAT(found.remarks.front(), HasSubstr("empty entry is ignored"));
}

TEST_F(CudaLocationsTest, J9_Empty) {
  for (const char *value : {"", "   "}) {
    variables["CUDA_HOME"] = value;
    EXPECT_THAT(find().remarks, ElementsAre("CUDA_HOME is set but empty; it is ignored"));
  }
}

TEST_F(CudaLocationsTest, J9_Spaces) {
  variables["CUDA_HOME"] = "  " + at("toolkit") + " ";
  const CudaLocations found = find();
  EXPECT_EQ(found.libraryDirs.front(), at("toolkit/lib64"));
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("spaces around its entry")));
}

TEST_F(CudaLocationsTest, J9_SpaceInsideIsPartOfTheName) {
  fs::create_directories(root / "my toolkit/lib64");
  variables["CUDA_HOME"] = at("my toolkit");
  const CudaLocations found = find();
  EXPECT_EQ(found.libraryDirs.front(), at("my toolkit/lib64"));
  EXPECT_THAT(found.remarks, IsEmpty());
}

TEST_F(CudaLocationsTest, J9_NonExistent) {
  variables["CUDA_HOME"] = at("nowhere");
  const CudaLocations found = find();
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("CUDA_HOME names '" + at("nowhere"))));
  EXPECT_THAT(found.libraryDirs, Not(Contains(HasSubstr("nowhere"))));
}

TEST_F(CudaLocationsTest, J9_RemarkReachesTheErrorOfWhatIsMissing) {
  variables["CUDA_HOME"] = at("nowhere");
  LibraryRequest request;
  request.what = "libnothing";
  request.fileNames = {"libattnc-nothing.so.1"};
  request.advice = "install it";
  const Status status = DynamicLibrary::open(request, find()).status();
  EXPECT_EQ(status.code(), StatusCode::Environment);
  EXPECT_THAT(status.message(), HasSubstr("libattnc-nothing.so.1"));
  EXPECT_THAT(status.message(), HasSubstr("install it"));
  EXPECT_THAT(status.message(), HasSubstr("CUDA_HOME names '"));
}

TEST_F(CudaLocationsTest, OrderIsProjectThenToolkitThenVirtualEnvironment) {
  fs::create_directories(root / "mine");
  variables["ATTNC_CUDA_PATH"] = at("mine") + ":" + at("venv/lib/python3.11/site-packages/nvidia");
  variables["CUDA_HOME"] = at("toolkit");
  const std::vector<std::string> dirs = find().libraryDirs;
  const auto position = [&](const std::string &path) {
    return std::find(dirs.begin(), dirs.end(), at(path)) - dirs.begin();
  };
  EXPECT_EQ(position("mine"), 0);
  EXPECT_LT(position("venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib"),
            position("toolkit/lib64"));
  variables.erase("ATTNC_CUDA_PATH");
  variables["VIRTUAL_ENV"] = at("venv");
  const CudaLocations found = find();
  EXPECT_EQ(found.libraryDirs[0], at("toolkit/lib64"));
  EXPECT_EQ(found.libraryDirs[1], at("venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib"));
  EXPECT_THAT(found.binaryDirs, Contains(at("venv/lib/python3.11/site-packages/nvidia/cu13/bin")));
}

TEST_F(CudaLocationsTest, ProgramsAreFoundInToolkitThenPath) {
  variables["PATH"] = at("venv") + "::" + at("toolkit/include");
  EXPECT_THAT(find().findProgram("attnc-prog", "X").status().message(), HasSubstr(at("venv")));
  makeProgram("toolkit/include/attnc-prog");
  EXPECT_EQ(*find().findProgram("attnc-prog", "X"), at("toolkit/include/attnc-prog"));
  variables["CUDA_HOME"] = at("toolkit");
  makeProgram("toolkit/bin/attnc-prog");
  EXPECT_EQ(*find().findProgram("attnc-prog", "X"), at("toolkit/bin/attnc-prog"));
}

TEST_F(CudaLocationsTest, OverridesAreUsedOrAreErrors) {
  makeProgram("venv/other");
  variables["ATTNC_PTXAS"] = at("venv/other");
  EXPECT_EQ(*find().findProgram("ptxas", "ATTNC_PTXAS"), at("venv/other"));
  variables["ATTNC_PTXAS"] = at("venv");
  EXPECT_THAT(find().findProgram("ptxas", "ATTNC_PTXAS").status().message(),
              HasSubstr("ATTNC_PTXAS is '"));
  variables["ATTNC_NVJITLINK"] = at("venv/other"); // A script, not a library.
  const Status status = loadNvJitLink(find()).status();
  EXPECT_EQ(status.code(), StatusCode::Environment);
  EXPECT_THAT(status.message(), HasSubstr("ATTNC_NVJITLINK"));
}

TEST_F(CudaLocationsTest, ALibraryWithoutTheFunctionsIsTooOld) {
  variables["ATTNC_NVRTC"] = "libm.so.6";
  const Status status = loadNvrtc(find()).status();
  EXPECT_THAT(status.message(), HasSubstr("has no function nvrtcGetErrorString"));
}

TEST_F(CudaLocationsTest, ABrokenLibraryFileIsReported) {
  ASSERT_TRUE(writeFileAtomically(at("toolkit/lib64/libattnc-broken.so"), "not an ELF file").ok());
  variables["CUDA_HOME"] = at("toolkit");
  LibraryRequest request;
  request.what = "broken";
  request.fileNames = {"libattnc-broken.so"};
  EXPECT_THAT(DynamicLibrary::open(request, find()).status().message(),
              HasSubstr("is there but does not load"));
}

TEST_F(CudaLocationsTest, J6_NoDriverSaysWhatNeedsIt) {
  variables["ATTNC_LIBCUDA"] = at("no-such-libcuda.so.1");
  EXPECT_THAT(loadDriver(find()).status().message(), HasSubstr("ATTNC_LIBCUDA"));
  variables.clear();
  const Result<cuda::DriverApi> driver = loadDriver(find());
  if (!driver)
    EXPECT_THAT(driver.status().message(), HasSubstr("install an NVIDIA driver"));
}

} // namespace
