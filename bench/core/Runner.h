// Runs a suite: cells one by one, the implementations of a cell interleaved turn by turn, each
// repetition until its stopping rule holds, one row for each. Decides statuses; measures nothing
// itself.
//
//   cell:  prepare A, B, C (and check their results)
//   rep 0: warm A B C   A B C A B C A B . A B .      each letter a turn of a few samples;
//   rep 1: warm A B C   A B C ...                    "." has met its stopping rule
#ifndef ATTNC_BENCH_RUNNER_H
#define ATTNC_BENCH_RUNNER_H

#include "Implementation.h"
#include "Progress.h"
#include "RowFile.h"
#include "Stopping.h"
#include "Suites.h"

#include <atomic>
#include <functional>

namespace attnc::bench {

struct RunOptions {
  RowHeader header;
  int reps = 5;
  int warmup = 3;
  int turn = 10;
  StopLimits stop;
  /// Cells to run, positions in the suite.
  std::vector<std::size_t> cells;
  /// Command that repeats one row, without --impl and --only, which are appended.
  std::string repeatPrefix;
};

struct RunSummary {
  std::size_t rows = 0, skipped = 0;
  std::vector<std::pair<std::string, std::size_t>> statuses;
  bool interrupted = false;
};

class Runner {
public:
  /// \p interrupted is looked at between turns; set, the run ends after what is complete.
  Runner(Machine &machine, std::vector<std::unique_ptr<Implementation>> &implementations,
         RowFile &rows, Progress &progress, const std::atomic<bool> &interrupted,
         Clock clock = steadySeconds);

  /// \returns the summary, or the failure to write a row.
  Result<RunSummary> run(const Suite &suite, const RunOptions &options);

private:
  struct Contender;
  Status runCell(const Config &config, std::size_t number, const RunOptions &options,
                 RunSummary &summary);
  void prepare(const Config &config, Implementation &implementation,
               const std::optional<Refusal> &cellRefusal, Contender &contender);
  Status repetition(const Config &config, std::size_t number, int rep, const RunOptions &options,
                    std::vector<Contender> &contenders, RunSummary &summary);
  Json row(const Config &config, std::size_t number, int rep, const RunOptions &options,
           const Contender &contender) const;
  Status write(const Json &row, RunSummary &summary);
  /// The machine's loss, if any, as the failure that ends the run.
  Status lostStatus();

  Machine &machine;
  std::vector<std::unique_ptr<Implementation>> &implementations;
  RowFile &rows;
  Progress &progress;
  const std::atomic<bool> &interrupted;
  Clock clock;
  std::string gpuIdentity;
  Json gpu;
  std::size_t step = 0;
};

/// UTC now as ISO 8601.
std::string utcNow();

} // namespace attnc::bench

#endif // ATTNC_BENCH_RUNNER_H
