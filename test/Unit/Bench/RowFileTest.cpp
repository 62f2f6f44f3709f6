// Resuming: torn lines, what counts as done, what is refused.
#include "RowFile.h"
#include "TempDir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace attnc::bench;
using testing::HasSubstr;

namespace {

Config config(std::int64_t n = 16) {
  Config c;
  c.n = n;
  return c;
}

Json row(const char *status, int rep, std::int64_t n = 16, const char *run = "r") {
  return {{"schema_version", 1},
          {"run_id", run},
          {"rep", rep},
          {"implementation", "X"},
          {"config", config(n).toJson()},
          {"gpu", {{"name", "H200"}}},
          {"status", status}};
}

} // namespace

TEST(RowFile, ResumingTakesOverRunAndSkipsWhatIsDone) {
  TempDir dir;
  const std::string path = dir.file("rows.jsonl");
  {
    auto file = RowFile::open(path, false, "r");
    ASSERT_TRUE(file.ok()) << file.status().message();
    for (const Json &r : {row("OK", 0), row("OK", 1), row("ERROR", 2), row("UNSUPPORTED", 0, 32)})
      ASSERT_TRUE((*file)->append(r).ok());
  }
  auto file = RowFile::open(path, true, "");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->runId(), "r");
  EXPECT_EQ((*file)->rowsFound(), 4u);
  EXPECT_TRUE((*file)->done("H200", "X", config(), 1));
  EXPECT_FALSE((*file)->done("H200", "X", config(), 2)) << "an ERROR is tried again";
  EXPECT_FALSE((*file)->done("H200", "X", config(), 3));
  EXPECT_FALSE((*file)->done("A100", "X", config(), 0));
  EXPECT_FALSE((*file)->done("H200", "Y", config(), 0));
  EXPECT_TRUE((*file)->done("H200", "X", config(32), 4)) << "a refusal stands for all repetitions";
}

TEST(RowFile, TornLastLineIsCutOffAndMeasuredAgain) {
  TempDir dir;
  const std::string whole = row("OK", 0).dump() + "\n";
  const std::string torn = row("OK", 1).dump().substr(0, 40);
  const std::string path = dir.write("rows.jsonl", whole + torn);
  auto file = RowFile::open(path, true, "");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->tornBytes(), 40u);
  EXPECT_FALSE((*file)->done("H200", "X", config(), 1));
  ASSERT_TRUE((*file)->append(row("OK", 1)).ok());
  EXPECT_EQ(dir.read("rows.jsonl"), whole + row("OK", 1).dump() + "\n");
}

TEST(RowFile, ALineThatParsesButHasNoNewlineIsTornToo) {
  TempDir dir;
  const std::string path = dir.write("rows.jsonl", row("OK", 0).dump());
  auto file = RowFile::open(path, true, "r");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->done("H200", "X", config(), 0));
  EXPECT_EQ(dir.read("rows.jsonl"), "");
}

TEST(RowFile, BadLineIsAnErrorWithItsNumberAndNothingChanges) {
  TempDir dir;
  const std::string text = row("OK", 0).dump() + "\nnot a row\n" + row("OK", 1).dump() + "\nto";
  const std::string path = dir.write("rows.jsonl", text);
  auto file = RowFile::open(path, true, "");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.status().message(), HasSubstr("rows.jsonl:2: "));
  EXPECT_EQ(dir.read("rows.jsonl"), text);
}

TEST(RowFile, WhatCannotHoldRowsIsRefused) {
  TempDir dir;
  const std::string pipe = dir.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // Reading /dev/full does not end, and a pipe waits for its other end.
  for (const std::string &path : {pipe, std::string("/dev/full"), dir.file("")}) {
    auto file = RowFile::open(path, false, "r");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code(), StatusCode::Environment);
    EXPECT_THAT(file.status().message(), HasSubstr(path + ": is not a regular file"));
  }
  auto file = RowFile::open(dir.file("missing/rows.jsonl"), false, "r");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.status().message(), HasSubstr("rows.jsonl: cannot open: No such file"));
}

TEST(RowFile, OtherRunsInTheFileAreLeftAlone) {
  TempDir dir;
  const std::string path = dir.write("rows.jsonl", row("OK", 0, 16, "old").dump() + "\n" +
                                                       row("OK", 1, 16, "r").dump() + "\n");
  auto file = RowFile::open(path, true, "r");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->done("H200", "X", config(), 0));
  EXPECT_TRUE((*file)->done("H200", "X", config(), 1));
}

TEST(RowFile, IsNeverOverwrittenOrSharedByTwo) {
  TempDir dir;
  const std::string path = dir.write("rows.jsonl", row("OK", 0).dump() + "\n");
  EXPECT_THAT(RowFile::open(path, false, "r").status().message(), HasSubstr("--resume"));
  auto first = RowFile::open(path, true, "r");
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(RowFile::open(path, true, "r").status().message(), HasSubstr("another attn-bench"));
}
