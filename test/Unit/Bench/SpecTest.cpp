// Specs of configurations: names, text, and that attnc accepts each where it is built.
#include "Spec.h"
#include "Command.h"
#include "Suites.h"
#include "TempDir.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::HasSubstr;

TEST(Spec, TextAndName) {
  Config c;
  c.hq = 32;
  c.hkv = 8;
  c.causal = true;
  c.variant = "window-1024";
  EXPECT_EQ(specName(c), "bench-prefill-h32x8-d128-bf16-causal-window-1024");
  EXPECT_THAT(*specText(c), HasSubstr("mask: [causal, {window: [1023, -1]}]"));
  c.variant.reset();
  c.regime = "decode";
  EXPECT_EQ(specName(c), "bench-decode-h32x8-d128-bf16") << "one query at the end sees all keys";
  c.pageSize = 16;
  EXPECT_THAT(*specText(c), HasSubstr("kv: paged(page=16)"));
  c.mode = "fwd_bwd";
  EXPECT_EQ(specText(c).status().code(), StatusCode::Unsupported);
}

TEST(Spec, AttncAcceptsEverySpecOfTheSuites) {
  const std::string attnc = findTool("attnc");
  if (attnc.empty())
    GTEST_SKIP() << "no attnc in this build";
  TempDir dir;
  std::vector<std::string> seen;
  for (const auto &[name, description] : builtinSuites()) {
    const Result<Suite> suite = findSuite(name);
    ASSERT_TRUE(suite.ok());
    for (const Config &c : suite->cells) {
      const std::string file = specName(c) + ".yaml";
      if (std::find(seen.begin(), seen.end(), file) != seen.end())
        continue;
      seen.push_back(file);
      const CommandResult run =
          runCommand({attnc, "spec", "fmt", dir.write(file, *specText(c))}, 60);
      EXPECT_EQ(run.exitCode, 0) << *specText(c) << run.standardError;
    }
  }
  EXPECT_GT(seen.size(), 10u);
}

TEST(Spec, WithoutPackageAndCompilerItSaysHowToMakeOne) {
  PackageSource source;
  source.prebuilt = "/nowhere";
  const Status s = source.path(Config(), "sm_90a").status();
  EXPECT_EQ(s.code(), StatusCode::Unsupported);
  EXPECT_THAT(s.message(), HasSubstr("--compile DIR"));
}
