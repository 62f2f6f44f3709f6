// The C interface through the shared library: errors, lifetimes, plans without a device.
#include "attnc/Runtime/attnc_rt.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

extern "C" int attncHeaderTest(void);
extern "C" attnc_status attncPlanExample(const void *bytes, size_t size, size_t *workspace);

namespace {

std::string withHeader(const std::string &manifest) {
  std::string bytes = "ATTNPKG1";
  for (int i = 0; i < 8; ++i)
    bytes += char(manifest.size() >> (8 * i) & 0xff);
  return bytes + manifest + "ptx\n";
}

std::string readText(const std::string &path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The first code block of \p language in docs/Runtime.md.
std::string documentedBlock(const std::string &language) {
  const std::string text = readText(ATTNC_SOURCE_DIR "/docs/Runtime.md");
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = text.find(fence);
  if (begin == std::string::npos)
    return {};
  return text.substr(begin + fence.size(), text.find("```", begin + 3) - begin - fence.size());
}

/// A package file made by hand, so that this test needs nothing but the C interface.
std::string
packageBytes(const std::string &grid = R"(["mul","batch",["ceildiv","max_len_q",128]])") {
  const std::string manifest =
      R"({"format":1,"name":"c","compiler":"attnc","spec_hash":"00","spec":"attn: 1","target":"sm_80",
"problem":{"kind":"prefill","heads_q":1,"heads_kv":1,"dim_qk":64,"dim_v":64,
"dtype":{"q":"f16","kv":"f16","o":"f16"},"layout":"bshd","seq":"dense","outputs":["o"]},
"kernels":[{"entry":"k","block":32,"shared_bytes":0,"grid":)" +
      grid + R"(,"params":[{"name":"o","kind":"tensor","dtype":"f16","rank":4},
{"name":"part","kind":"tensor","dtype":"f32","rank":1}]}],
"workspace":[{"name":"part","dtype":"f32","shape":["batch"]}],
"blobs":{"ptx":{"offset":0,"size":4}}})";
  return withHeader(manifest);
}

attnc_package *load(const std::string &bytes = packageBytes()) {
  attnc_package *package = nullptr;
  EXPECT_EQ(attnc_package_load_memory(bytes.data(), bytes.size(), &package), ATTNC_OK)
      << attnc_last_error();
  return package;
}

TEST(CApi, HeaderIsC) { EXPECT_EQ(attncHeaderTest(), 1); }

TEST(CApi, TheDocumentsExamplesWork) {
  const std::string code = documentedBlock("c");
  ASSERT_FALSE(code.empty());
  EXPECT_NE(readText(ATTNC_SOURCE_DIR "/test/Unit/Runtime/CHeaderTest.c").find(code),
            std::string::npos)
      << "docs/Runtime.md and CHeaderTest.c differ";
  const std::string package = withHeader(documentedBlock("json"));
  size_t workspace = 0;
  ASSERT_EQ(attncPlanExample(package.data(), package.size(), &workspace), ATTNC_OK)
      << attnc_last_error();
  EXPECT_EQ(workspace, 2u * 4 * 32 * 1 * 130 * 4);
}

TEST(CApi, PlanOutlivesPackageAndKernel) {
  attnc_package *package = load();
  EXPECT_NE(std::strstr(attnc_package_manifest(package), "\"sm_80\""), nullptr);
  attnc_kernel *kernel = nullptr;
  ASSERT_EQ(attnc_kernel_create(package, -1, &kernel), ATTNC_OK);
  attnc_package_destroy(package);
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  sizes.batch = 100;
  sizes.max_len_q = sizes.max_len_kv = 16;
  attnc_plan *plan = nullptr;
  ASSERT_EQ(attnc_plan_create(kernel, &sizes, &plan), ATTNC_OK) << attnc_last_error();
  attnc_kernel_destroy(kernel);
  size_t bytes = 0;
  ASSERT_EQ(attnc_plan_workspace_size(plan, &bytes), ATTNC_OK);
  EXPECT_EQ(bytes, 512u);
  int64_t splits = 0;
  ASSERT_EQ(attnc_plan_splits(plan, &splits), ATTNC_OK);
  EXPECT_EQ(splits, 1);
  attnc_tensor o = {
      "o", reinterpret_cast<void *>(0x1000), ATTNC_F16, 4, {100, 1, 16, 64}, {1024, 1024, 64, 1},
      0};
  EXPECT_EQ(
      attnc_plan_run(plan, &o, 1, nullptr, 0, reinterpret_cast<void *>(0x2000), bytes, nullptr),
      ATTNC_ENVIRONMENT);
  EXPECT_STREQ(attnc_last_error(), "this plan was made without a device: it cannot run");
  o.shape[1] = 2;
  EXPECT_EQ(attnc_plan_run(plan, &o, 1, nullptr, 0, nullptr, 0, nullptr), ATTNC_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_last_error(), "tensor 'o': dimension 1 (head) is 2; this plan needs 1");
  o.rank = 7;
  EXPECT_EQ(attnc_plan_run(plan, &o, 1, nullptr, 0, nullptr, 0, nullptr), ATTNC_INVALID_ARGUMENT);
  o.name = nullptr;
  EXPECT_EQ(attnc_plan_run(plan, &o, 1, nullptr, 0, nullptr, 0, nullptr), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_plan_run(plan, &o, 1000, nullptr, 0, nullptr, 0, nullptr),
            ATTNC_INVALID_ARGUMENT);
  attnc_scalar scalar = {nullptr, 0, 0, 0};
  EXPECT_EQ(attnc_plan_run(plan, nullptr, 0, &scalar, 1, nullptr, 0, nullptr),
            ATTNC_INVALID_ARGUMENT);
  attnc_plan_destroy(plan);
}

TEST(CApi, NullArgumentsAreErrors) {
  attnc_package *package = load();
  attnc_kernel *kernel = nullptr;
  attnc_plan *plan = nullptr;
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  EXPECT_EQ(attnc_package_load_file(nullptr, &package), ATTNC_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_last_error(), "argument 'path' is null");
  EXPECT_EQ(attnc_package_load_memory("", 0, nullptr), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_kernel_create(nullptr, -1, &kernel), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_kernel_create(package, -2, &kernel), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_plan_create(nullptr, &sizes, &plan), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_plan_workspace_size(nullptr, nullptr), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_plan_run(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr),
            ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(attnc_environment_json(nullptr), ATTNC_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_package_manifest(nullptr), "");
  attnc_package_destroy(nullptr);
  attnc_kernel_destroy(nullptr);
  attnc_plan_destroy(nullptr);
  attnc_string_free(nullptr);
  attnc_package_destroy(package);
}

TEST(CApi, BadFilesAndSizesAreErrors) {
  attnc_package *package = nullptr;
  EXPECT_EQ(attnc_package_load_file("/no/such/file", &package), ATTNC_ENVIRONMENT);
  EXPECT_EQ(attnc_package_load_memory("garbage", 7, &package), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(package, nullptr);
  package = load();
  attnc_kernel *kernel = nullptr;
  ASSERT_EQ(attnc_kernel_create(package, -1, &kernel), ATTNC_OK);
  attnc_plan *plan = nullptr;
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  sizes.struct_size = 8;
  EXPECT_EQ(attnc_plan_create(kernel, &sizes, &plan), ATTNC_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(attnc_last_error(), "ATTNC_SIZES_INIT"), nullptr);
  sizes.struct_size = sizeof sizes;
  sizes.batch = -1;
  const int32_t lengths[1] = {0};
  sizes.host_kv_lens = lengths; // Not read for such a batch.
  EXPECT_EQ(attnc_plan_create(kernel, &sizes, &plan), ATTNC_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
  attnc_kernel_destroy(kernel);
  attnc_package_destroy(package);
}

// What the host knows of a paged cache is held against the page table before anything runs.
TEST(CApi, S14_PagedLengthsBeyondTheTable) {
  attnc_package *package = load(withHeader(
      R"({"format":1,"name":"c","compiler":"attnc","spec_hash":"00","spec":"attn: 1","target":"sm_80",
"problem":{"kind":"decode","heads_q":1,"heads_kv":1,"dim_qk":64,"dim_v":64,"page_size":16,
"dtype":{"q":"f16","kv":"f16","o":"f16"},"layout":"bshd","seq":"kv_lens","outputs":["o"]},
"kernels":[{"entry":"k","block":32,"shared_bytes":0,"grid":"batch","params":[
{"name":"o","kind":"tensor","dtype":"f16","rank":4},
{"name":"block_table","kind":"tensor","dtype":"i32","rank":2}]}],
"workspace":[],"blobs":{"ptx":{"offset":0,"size":4}}})"));
  ASSERT_NE(package, nullptr);
  attnc_kernel *kernel = nullptr;
  ASSERT_EQ(attnc_kernel_create(package, -1, &kernel), ATTNC_OK) << attnc_last_error();
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  sizes.batch = 2;
  sizes.max_len_q = 1;
  sizes.max_len_kv = 64;
  sizes.pages = 100;
  sizes.max_pages = 3;
  attnc_plan *plan = nullptr;
  EXPECT_EQ(attnc_plan_create(kernel, &sizes, &plan), ATTNC_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_last_error(),
               "max_pages is 3, room for 48 tokens in pages of 16; max_len_kv is 64");
  sizes.max_len_kv = 48;
  const int32_t lens[] = {48, 49};
  sizes.host_kv_lens = lens;
  EXPECT_EQ(attnc_plan_create(kernel, &sizes, &plan), ATTNC_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_last_error(), "kv_lens[1] is 49; allowed are 0 to max_len_kv, which is 48");
  sizes.host_kv_lens = nullptr;
  ASSERT_EQ(attnc_plan_create(kernel, &sizes, &plan), ATTNC_OK) << attnc_last_error();
  attnc_plan_destroy(plan);
  attnc_kernel_destroy(kernel);
  attnc_package_destroy(package);
}

TEST(CApi, TheLastErrorIsPerThread) {
  attnc_package *package = nullptr;
  EXPECT_EQ(attnc_package_load_memory("garbage", 7, &package), ATTNC_INVALID_ARGUMENT);
  const std::string here = attnc_last_error();
  EXPECT_FALSE(here.empty());
  std::thread([] { EXPECT_STREQ(attnc_last_error(), ""); }).join();
  EXPECT_EQ(here, attnc_last_error());
  EXPECT_STREQ(attnc_last_error_log(), "");
}

TEST(CApi, NamesAndEnvironment) {
  EXPECT_STREQ(attnc_status_name(ATTNC_OK), "ok");
  EXPECT_STREQ(attnc_status_name(ATTNC_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(attnc_status_name(static_cast<attnc_status>(33)), "unknown");
  char *json = nullptr;
  ASSERT_EQ(attnc_environment_json(&json), ATTNC_OK) << attnc_last_error();
  EXPECT_NE(std::strstr(json, "\"runtime\""), nullptr);
  attnc_string_free(json);
}

} // namespace
