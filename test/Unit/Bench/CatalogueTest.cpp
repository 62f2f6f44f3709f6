// Choosing implementations, and their ids against those of the analysis and the worker.
#include "Catalogue.h"
#include "Command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::HasSubstr;

TEST(Catalogue, SelectsIdsAndPlugins) {
  auto s = selectImplementations({"P5-attnc,P6-cudnn", "mine=/a/b.py:run"});
  ASSERT_TRUE(s.ok()) << s.status().message();
  ASSERT_EQ(s->size(), 3u);
  EXPECT_EQ((*s)[1].id, "P6-cudnn");
  EXPECT_EQ((*s)[2].id, "mine");
  EXPECT_EQ((*s)[2].plugin, "/a/b.py:run");
  EXPECT_EQ((*s)[2].entry, nullptr);
  EXPECT_EQ(selectImplementations({})->size(), catalogue().size());
}

TEST(Catalogue, RefusesWithAdvice) {
  EXPECT_THAT(selectImplementations({"p5-atnc"}).status().message(), HasSubstr("P5-attnc"));
  EXPECT_THAT(selectImplementations({"x=y.py"}).status().message(),
              HasSubstr("NAME=path.py:function"));
  EXPECT_THAT(selectImplementations({"P5-attnc", "P5-attnc"}).status().message(),
              HasSubstr("twice"));
}

TEST(Catalogue, TheWorkerKnowsEveryPythonId) {
  std::string ids;
  for (const CatalogueEntry &e : catalogue())
    if (e.backing == Backing::Python)
      ids += std::string(e.id) + " ";
  const CommandResult run =
      runCommand({"python3", "-c",
                  "import sys; sys.path.insert(0, sys.argv[1]); import registry\n"
                  "print(*(set(sys.argv[2].split()) ^ set(registry.PEERS)))",
                  ATTNC_SOURCE_DIR "/bench/peers", ids},
                 60);
  EXPECT_EQ(run.standardOutput, "\n") << run.standardError;
}
