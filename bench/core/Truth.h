// The fp64 truth of a cell and the check of an output against it. Big cells are checked on a sample
// of rows, the first and last of every head among them; every element is checked to be a number.
#ifndef ATTNC_BENCH_TRUTH_H
#define ATTNC_BENCH_TRUTH_H

#include "GpuContext.h"

namespace attnc::bench {

class Truth {
public:
  /// (query row, key) pairs above which rows are sampled.
  static constexpr double maxPairs = 1e9;

  /// Computes the reference, and the error of the naive implementation in the same dtype, on the
  /// rows that are checked.
  static Result<std::unique_ptr<Truth>> make(const GpuContext &context, const Config &config,
                                             const GpuTensors &tensors);

  /// Compares [B, Hq, Sq, D] at \p address. \returns the row's `correctness`: pass, max_abs,
  /// max_rel, min_cos, vs_baseline, rows_checked, rows; and `why` in words when it fails.
  ///
  /// Passes: every element a number, and max_abs at most twice the naive implementation's plus half
  /// a unit in the last place of the largest value.
  Result<Json> check(std::uint64_t address) const;

  /// Compares the GPU's reference with the CPU's on small shapes of every kind. \returns
  /// WrongResult if they differ.
  static Status selfCheck(const GpuContext &context);

private:
  struct Errors {
    double maxAbs = 0, maxRel = 0, minCos = 1, big = 0, nonFinite = 0;
  };
  explicit Truth(const GpuContext &context) : context(context) {}
  Result<Errors> compare(std::uint64_t address, int dtype, bool compact) const;

  const GpuContext &context;
  Config config;
  std::int64_t rowCount = 0, totalRows = 0;
  std::unique_ptr<rt::Buffer> rows, reference, stats;
  double naiveMaxAbs = 0;
};

/// The rows to check: all, or per head the first two, the last two, and pseudo-random ones between.
std::vector<std::int64_t> rowsToCheck(std::int64_t heads, std::int64_t lenQ, std::int64_t most);

} // namespace attnc::bench

#endif // ATTNC_BENCH_TRUTH_H
