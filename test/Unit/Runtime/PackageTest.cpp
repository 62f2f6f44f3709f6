// Package files: round trip, and a clear error for every way a file can be wrong.
#include "attnc/Runtime/Package.h"
#include "TestPackages.h"
#include "attnc/Runtime/FileIo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <functional>

using namespace attnc::rt;
using namespace attnc::rt::testing;
using ::testing::HasSubstr;
using Json = nlohmann::json;

namespace {

std::string lengthField(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(value >> (8 * i) & 0xff);
  return bytes;
}

std::string fileWith(const std::string &manifest, const std::string &blobs) {
  return "ATTNPKG1" + lengthField(manifest.size()) + manifest + blobs;
}

std::string errorOf(const std::string &bytes) {
  Result<Package> parsed = parsePackage(bytes, "test.attnpkg");
  EXPECT_FALSE(parsed.ok());
  return parsed ? "no error" : parsed.status().message();
}

/// The error after \p change was made to a good manifest.
std::string errorAfter(const std::function<void(Json &)> &change) {
  Json manifest = Json::parse(*prefillPackage().manifestJson());
  change(manifest);
  return errorOf(fileWith(manifest.dump(), std::string(13 + 9, 'x')));
}

TEST(Package, RoundTripKeepsEverything) {
  const Package package = decodePackage();
  Result<std::string> bytes = serializePackage(package);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  Result<Package> read = parsePackage(*bytes, "memory");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read->manifestJson(), *package.manifestJson());
  EXPECT_EQ(read->blob("ptx"), package.blob("ptx"));
  EXPECT_EQ(read->blob("cubin"), package.blob("cubin"));
  EXPECT_EQ(read->problem.maxQ, 8);
  EXPECT_EQ(read->config.at("stages"), 2);
  ASSERT_EQ(read->kernels.size(), 2u);
  EXPECT_EQ(read->kernels[1].params[2].name, "o");
  EXPECT_EQ(read->kernels[0].grid.toJson(), package.kernels[0].grid.toJson());
  EXPECT_EQ(read->workspace[0].shape.size(), 4u);
  EXPECT_EQ(*serializePackage(*read), *bytes);
}

TEST(Package, FilesAreWrittenAtomically) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("attnc-package-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = (directory / "a.sm_80.attnpkg").string();
  ASSERT_TRUE(writePackage(prefillPackage(), path).ok());
  ASSERT_TRUE(readPackage(path).ok());
  // Nothing but the result is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory),
                          std::filesystem::directory_iterator()),
            1);
  std::filesystem::remove_all(directory);
  EXPECT_EQ(writePackage(prefillPackage(), path).code(), StatusCode::Environment);
  EXPECT_EQ(readPackage(path).status().code(), StatusCode::Environment);
  EXPECT_EQ(readPackage("/").status().code(), StatusCode::Environment);
}

TEST(Package, EveryTruncationIsAnError) {
  const std::string bytes = *serializePackage(decodePackage());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parsePackage(bytes.substr(0, size), "cut").ok()) << size;
}

TEST(Package, HeaderErrors) {
  EXPECT_THAT(errorOf(""), HasSubstr("0 bytes"));
  EXPECT_THAT(errorOf("ATTNPKG2" + lengthField(2) + "{}"),
              HasSubstr("does not begin with ATTNPKG1"));
  EXPECT_THAT(errorOf("ATTNPKG1" + lengthField(100) + "{}"), HasSubstr("truncated"));
  EXPECT_THAT(errorOf("ATTNPKG1" + lengthField(~std::uint64_t(0)) + "{}"),
              HasSubstr("at most 16777216"));
}

TEST(Package, JsonErrors) {
  EXPECT_THAT(errorOf(fileWith("{\"format\": 1,", "")), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(errorOf(fileWith("[1]", "")), HasSubstr("expected an object, found an array"));
  EXPECT_THAT(errorOf(fileWith("{\"format\": 1, \"format\": 1}", "")), HasSubstr("appears twice"));
  EXPECT_THAT(errorOf(fileWith("{\"name\": \"\xff\"}", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf(fileWith(std::string(100000, '['), "")), HasSubstr("nesting is deeper"));
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  EXPECT_THAT(errorOf(fileWith(objects, "")), HasSubstr("nesting is deeper"));
}

TEST(Package, NewerFormatIsUnsupported) {
  Json manifest = Json::parse(*prefillPackage().manifestJson());
  manifest["format"] = 2;
  Result<Package> parsed = parsePackage(fileWith(manifest.dump(), std::string(22, 'x')), "new");
  EXPECT_EQ(parsed.status().code(), StatusCode::Unsupported);
  EXPECT_THAT(parsed.status().message(), HasSubstr("reads format 1"));
}

TEST(Package, FieldErrorsNameTheField) {
  EXPECT_THAT(errorAfter([](Json &m) { m.erase("name"); }), HasSubstr("name: missing"));
  EXPECT_THAT(errorAfter([](Json &m) { m["name"] = 3; }),
              HasSubstr("name: expected a string, found an integer"));
  EXPECT_THAT(errorAfter([](Json &m) { m["target"] = "gfx90a"; }), HasSubstr("target: 'gfx90a'"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"] = Json::array(); }),
              HasSubstr("problem: expected an object"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["heads_q"] = 0; }),
              HasSubstr("problem.heads_q: 0 is out of range"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["heads_q"] = 3; }),
              HasSubstr("heads_q 3 is not a multiple of heads_kv 2"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["heads_q"] = 18446744073709551615u; }),
              HasSubstr("out of range"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["heads_q"] = 1.5; }),
              HasSubstr("a number with a fraction"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["dtype"]["q"] = "bf17"; }),
              HasSubstr("problem.dtype.q: unknown dtype 'bf17'; allowed are bf16"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["seq"] = "ragged"; }),
              HasSubstr("one of dense, varlen, kv_lens"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["page_size"] = 16; }),
              HasSubstr("needs seq 'kv_lens'"));
  EXPECT_THAT(errorAfter([](Json &m) { m["problem"]["outputs"] = {"o", "p"}; }), HasSubstr("'p'"));
  EXPECT_THAT(errorAfter([](Json &m) { m["config"]["block_m"] = "big"; }),
              HasSubstr("config.block_m"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"] = Json::array(); }), HasSubstr("kernels: 0"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["entry"] = "a b"; }),
              HasSubstr("kernels[0].entry"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["block"] = 2048; }),
              HasSubstr("allowed are 1 to 1024"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0].erase("grid"); }),
              HasSubstr("kernels[0].grid: missing"));
  EXPECT_THAT(errorAfter([](Json &m) {
                m["kernels"][0]["grid"] = {"mul", "batch"};
              }),
              HasSubstr("kernels[0].grid"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["grid"] = "heads"; }),
              HasSubstr("unknown symbol 'heads'"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["params"][0]["kind"] = "f16"; }),
              HasSubstr("kernels[0].params[0].kind: unknown kind 'f16'"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["params"][0]["rank"] = 7; }),
              HasSubstr("params[0].rank: 7"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["params"][0]["align"] = 3; }),
              HasSubstr("power of two"));
  EXPECT_THAT(errorAfter([](Json &m) { m["kernels"][0]["params"][1]["name"] = "q"; }),
              HasSubstr("'q' appears twice"));
  EXPECT_THAT(errorAfter([](Json &m) {
                m["workspace"] = {{{"name", "w"}, {"dtype", "f32"}, {"shape", Json::array()}}};
              }),
              HasSubstr("workspace[0].shape"));
}

TEST(Package, TooManyParametersAreRefused) {
  EXPECT_THAT(errorAfter([](Json &m) {
                for (int i = 0; i < 300; ++i)
                  m["kernels"][0]["params"].push_back(
                      {{"name", "arg.x" + std::to_string(i)}, {"kind", "i32"}});
              }),
              HasSubstr("at most 256"));
}

TEST(Package, BlobRangesAreChecked) {
  const auto withBlob = [](std::uint64_t offset, std::uint64_t size) {
    return errorAfter([&](Json &m) { m["blobs"]["ptx"] = {{"offset", offset}, {"size", size}}; });
  };
  EXPECT_THAT(withBlob(0, 23), HasSubstr("truncated"));
  EXPECT_THAT(withBlob(23, 0), HasSubstr("truncated"));
  EXPECT_THAT(withBlob(9223372036854775807, 9223372036854775807), HasSubstr("truncated"));
  EXPECT_THAT(withBlob(0, 22), HasSubstr("overlap"));
  EXPECT_THAT(errorAfter([](Json &m) { m["blobs"]["ptx"]["offset"] = -1; }),
              HasSubstr("blobs.ptx.offset: -1 is out of range"));
  EXPECT_THAT(errorAfter([](Json &m) { m["blobs"] = Json::object(); }),
              HasSubstr("neither ptx nor cubin"));
}

TEST(Package, UnknownManifestKeysAreIgnored) {
  Json manifest = Json::parse(*prefillPackage().manifestJson());
  manifest["remark"] = {{"any", "thing"}};
  EXPECT_TRUE(parsePackage(fileWith(manifest.dump(), std::string(22, 'x')), "more").ok());
}

TEST(Package, WriterRefusesWhatTheReaderWould) {
  Package package = prefillPackage();
  package.kernels[0].grid = Expression::symbol("no_such_symbol");
  EXPECT_THAT(serializePackage(package).status().message(), HasSubstr("no_such_symbol"));
  package = prefillPackage();
  Expression deep = 1;
  for (int i = 0; i < 40; ++i)
    deep = Expression::add(1, deep);
  package.kernels[0].grid = deep;
  EXPECT_THAT(serializePackage(package).status().message(), HasSubstr("deeper"));
  package = prefillPackage();
  package.spec = "\xff";
  EXPECT_FALSE(serializePackage(package).ok());
}

} // namespace
