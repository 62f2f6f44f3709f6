// `attn-bench run`: options to a finished row file. main.cpp has the flags.
#ifndef ATTNC_BENCH_RUNCOMMAND_H
#define ATTNC_BENCH_RUNCOMMAND_H

#include "Stopping.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attnc::bench {

struct RunArguments {
  std::string suite = "smoke", output, runId, shard, packages, workDirectory, python;
  std::vector<std::string> implementations;
  std::vector<std::size_t> only;
  bool resume = false, host = false, noPeers = false, strict = false;
  int reps = 5, warmup = 3, turn = 10, device = 0;
  StopLimits stop;
  double workerTimeout = 180;
  std::uint64_t seed = 1;
};

/// \returns the exit code: 0; 2 for wrong arguments; 4 with strict and an INCORRECT row; 5; 130
/// when interrupted.
int runCommandLine(const RunArguments &arguments);

struct ListArguments {
  std::string suite, compileDirectory, target;
};

/// Lists suites, implementations and cells; compiles the packages of a suite.
int listCommandLine(const ListArguments &arguments);

} // namespace attnc::bench

#endif // ATTNC_BENCH_RUNCOMMAND_H
