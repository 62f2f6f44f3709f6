// Which candidate of `tune` won. Times in, verdict out; measuring and storing are TuneCommand's.
//
//   ratio of a candidate in a cell   median over repetitions of (its median / the baseline's median
//   of
//                                    the same repetition, with which it took turns)
//   score                            geometric mean of its ratios over the cells
#ifndef ATTNC_BENCH_TUNEJUDGE_H
#define ATTNC_BENCH_TUNEJUDGE_H

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc::bench {

/// Median times in microseconds, [implementation][cell][repetition]; a repetition without one is
/// absent.
using TuneTimes = std::map<std::string, std::map<std::size_t, std::map<int, double>>>;

struct TuneScore {
  std::string implementation;
  double score = 1;
  std::map<std::size_t, double> ratios;
};

/// Candidates with a time in every cell of \p baseline, best first. The baseline is not among them.
std::vector<TuneScore> scoreCandidates(const TuneTimes &times, const std::string &baseline);

/// The first of \p scores that is better than the baseline by \p margin (0.02: two percent) and
/// slower by more than that in no cell; none: the baseline stays.
std::optional<TuneScore> tuneWinner(const std::vector<TuneScore> &scores, double margin);

} // namespace attnc::bench

#endif // ATTNC_BENCH_TUNEJUDGE_H
