// `attn-bench tune`: tries configurations of attnc's kernels on the cells of a suite and stores the
// fastest where attnc looks for it.
//
//   for each spec of the suite (cells that differ in batch and length share one):
//     ask attnc for its own choice, the baseline; list candidates
//     screening: every candidate compiled, checked against fp64, timed a little, all interleaved
//     final:     the best few and the baseline at full length, --reps repetitions
//     verdict (TuneJudge.h) -> one line in the tuning store, with the evidence
#ifndef ATTNC_BENCH_TUNECOMMAND_H
#define ATTNC_BENCH_TUNECOMMAND_H

#include "RunCommand.h"

namespace attnc::bench {

struct TuneArguments {
  RunArguments run;
  std::vector<std::string> spaces;
  std::string store;
  int finalists = 6;
  double margin = 0.02;
  bool dryRun = false;
};

/// \returns 0; 2 for wrong arguments; 5 without a compiler or where no baseline could be measured;
/// 130 when interrupted, with nothing stored for the spec at hand.
int tuneCommandLine(const TuneArguments &arguments);

} // namespace attnc::bench

#endif // ATTNC_BENCH_TUNECOMMAND_H
