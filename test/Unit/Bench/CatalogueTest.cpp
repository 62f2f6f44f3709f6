// Choosing implementations, and their ids against those of the analysis and the worker.
#include "Catalogue.h"
#include "Command.h"
#include "TempDir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::HasSubstr;

TEST(Catalogue, SelectsIdsAndPlugins) {
  const TempDir dir;
  const std::string plugin = dir.write("b.py", "") + ":run";
  auto s = selectImplementations({"P5-attnc,P6-cudnn", "mine=" + plugin});
  ASSERT_TRUE(s.ok()) << s.status().message();
  ASSERT_EQ(s->size(), 3u);
  EXPECT_EQ((*s)[1].id, "P6-cudnn");
  EXPECT_EQ((*s)[2].id, "mine");
  EXPECT_EQ((*s)[2].plugin, plugin);
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

TEST(Catalogue, RefusesAPluginWithoutItsFile) {
  EXPECT_THAT(selectImplementations({"mine=/no/such/kernel.py:run"}).status().message(),
              HasSubstr("no file /no/such/kernel.py"));
}

// The worker reads the file again for each cell, and the plug-in may have gone elsewhere meanwhile.
TEST(Catalogue, ARelativePluginIsFoundFromEveryDirectory) {
  const TempDir dir;
  dir.write("wander.py", "import os\nos.chdir('/')\ndef run(config, q, k, v):\n  pass\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path);
  const auto s = selectImplementations({"mine=wander.py:run"});
  std::filesystem::current_path(before);
  ASSERT_TRUE(s.ok()) << s.status().message();
  const CommandResult run = runCommand({"python3", "-c",
                                        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
                                        "import worker; os.chdir(sys.argv[2])\n"
                                        "for _ in range(2):\n"
                                        "  print(worker.load_plugin(sys.argv[3]).__name__)",
                                        ATTNC_SOURCE_DIR "/bench/peers", dir.path, (*s)[0].plugin},
                                       60);
  EXPECT_EQ(run.standardOutput, "run\nrun\n") << run.standardError;
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
