// Suites: named lists of configurations, built in or from a user's YAML or JSON file. A cell's
// number (`--only K`) is its position in this list, whatever the shard.
#ifndef ATTNC_BENCH_SUITES_H
#define ATTNC_BENCH_SUITES_H

#include "Config.h"

#include <string>
#include <vector>

namespace attnc::bench {

struct Suite {
  std::string name;
  std::string description;
  std::vector<Config> cells;
};

/// Names of the built-in suites with a line on each.
std::vector<std::pair<std::string, std::string>> builtinSuites();

/// A built-in suite by name, else a file when \p nameOrPath exists as one.
/// \returns InvalidArgument with the known names, or with the file, line and key that is wrong.
Result<Suite> findSuite(const std::string &nameOrPath);

/// Parses a user's suite. JSON is YAML, so one reader serves both.
///
///   bench: 1
///   name: mine
///   defaults: {regime: prefill, hq: 32, head_dim: 128, causal: true}
///   cells:
///     - {batch: [1, 4], N: [1024, 4096], launch: [eager, graph]}   # lists multiply, first slowest
Result<Suite> parseSuite(const std::string &text, const std::string &source);

/// Cell i of n shards goes to shard i % n. Returns positions.
std::vector<std::size_t> shardCells(std::size_t count, int shard, int shards);

} // namespace attnc::bench

#endif // ATTNC_BENCH_SUITES_H
