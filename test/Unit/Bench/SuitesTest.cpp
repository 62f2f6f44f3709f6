// Configurations, suites and shards.
#include "Suites.h"
#include "TempDir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace attnc::bench;
using testing::HasSubstr;

TEST(Config, RoundTripsThroughJson) {
  Config c;
  c.regime = "decode";
  c.batch = 3;
  c.n = 777;
  c.hq = 8;
  c.hkv = 2;
  c.pageSize = 16;
  c.variant = "softcap-30";
  Result<Config> back = Config::fromJson(c.toJson());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->key(), c.key());
  EXPECT_EQ(back->lenQ(), 1);
}

TEST(Config, SaysWhatIsWrong) {
  const auto message = [](const char *text) {
    return Config::fromJson(Json::parse(text)).status().message();
  };
  EXPECT_THAT(message(R"({"regime":"prefill","batch":1,"N":8,"hq":8,"head_dim":64,"heads":2})"),
              HasSubstr("unknown key 'heads'"));
  EXPECT_THAT(message(R"({"regime":"prefill","N":8,"hq":8,"head_dim":64})"),
              HasSubstr("missing key 'batch'"));
  EXPECT_THAT(message(R"({"regime":"train","batch":1,"N":8,"hq":8,"head_dim":64})"),
              HasSubstr("allowed prefill, decode"));
  EXPECT_THAT(message(R"({"regime":"prefill","batch":1,"N":8,"hq":8,"hkv":3,"head_dim":64})"),
              HasSubstr("hq 8 is not a multiple of hkv 3"));
  EXPECT_THAT(message(R"({"regime":"prefill","batch":"x","N":8,"hq":8,"head_dim":64})"),
              HasSubstr("batch: found \"x\", allowed an integer"));
  EXPECT_THAT(message(R"({"regime":"prefill","batch":1,"N":0,"hq":8,"head_dim":64})"),
              HasSubstr("N: found 0"));
  EXPECT_THAT(
      message(R"({"regime":"prefill","batch":1,"N":8,"hq":8,"head_dim":64,"variant":"window-0"})"),
      HasSubstr("window-TOKENS"));
}

TEST(Suites, EveryBuiltinParsesAndHasNoCellTwice) {
  for (const auto &[name, description] : builtinSuites()) {
    Result<Suite> suite = findSuite(name);
    ASSERT_TRUE(suite.ok()) << name << ": " << suite.status().message();
    std::set<std::string> keys;
    for (const Config &c : suite->cells)
      EXPECT_TRUE(keys.insert(c.key()).second) << name << " " << c.label();
  }
  // The published study: 3 batches x 6 lengths and 4 x 6 x 2 head counts, each in eager and graph,
  // warm and cold; prefill with and without a causal mask.
  EXPECT_EQ(findSuite("seed-prefill")->cells.size(), 3u * 6 * 2 * 4);
  EXPECT_EQ(findSuite("seed-decode")->cells.size(), 4u * 6 * 2 * 4);
}

TEST(Suites, ListsMultiplyInTheOrderWritten) {
  Result<Suite> suite = parseSuite(R"(
bench: 1
name: mine
defaults: {regime: prefill, hq: 8, head_dim: 64}
cells:
  - {batch: [1, 2], N: [16, 32]}
  - {batch: 4, N: 64, causal: true, hq: 16}
)",
                                   "t.yaml");
  ASSERT_TRUE(suite.ok()) << suite.status().message();
  ASSERT_EQ(suite->cells.size(), 5u);
  EXPECT_EQ(suite->cells[1].batch, 1);
  EXPECT_EQ(suite->cells[1].n, 32);
  EXPECT_EQ(suite->cells[2].batch, 2);
  EXPECT_EQ(suite->cells[4].hq, 16);
  EXPECT_EQ(suite->cells[4].hkv, 16);
  EXPECT_TRUE(suite->cells[4].causal);
}

TEST(Suites, JsonIsAccepted) {
  Result<Suite> suite = parseSuite(
      R"({"bench": 1, "cells": [{"regime": "decode", "batch": 1, "N": 9, "hq": 4, "head_dim": 32,
          "page_size": null}]})",
      "t.json");
  ASSERT_TRUE(suite.ok()) << suite.status().message();
  EXPECT_FALSE(suite->cells[0].pageSize);
}

TEST(Suites, ErrorsNameFileLineAndKey) {
  const auto message = [](const char *text) {
    return parseSuite(text, "t.yaml").status().message();
  };
  EXPECT_THAT(message("bench: 1\ncells:\n  - {batch: 1, regime: prefill, N: 4, hq: 4}\n"),
              HasSubstr("t.yaml:3:5: missing key 'head_dim'"));
  EXPECT_THAT(message("bench: 1\ncell: []\n"), HasSubstr("t.yaml:2:1: unknown key 'cell'"));
  EXPECT_THAT(message("bench: 2\ncells: [{}]\n"), HasSubstr("bench: 1"));
  EXPECT_THAT(message("bench: 1\ncells: [\n"), HasSubstr("t.yaml:"));
  EXPECT_THAT(message("bench: 1\ncells:\n  - {batch: []}\n"), HasSubstr("found no value"));
  EXPECT_THAT(findSuite("smokey").status().message(), HasSubstr("seed-prefill"));
}

TEST(Suites, ShardsDivideCellsAndCoverThem) {
  std::set<std::size_t> all;
  for (int i = 0; i < 3; ++i)
    for (std::size_t cell : shardCells(10, i, 3))
      EXPECT_TRUE(all.insert(cell).second);
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(shardCells(10, 2, 3), (std::vector<std::size_t>{2, 5, 8}));
}
