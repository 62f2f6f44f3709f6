// The sizes of one concrete problem: `--shape`, sensible defaults, lengths of the sequences.
#ifndef ATTNC_TOOLS_PROBLEMSHAPE_H
#define ATTNC_TOOLS_PROBLEMSHAPE_H

#include "attnc/Spec/Spec.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attnc::cli {

/// Sizes that a spec leaves open.
struct ProblemShape {
  /// Sequences, and the longest query and KV sequence, in tokens.
  int64_t batch = 0, maxQ = 0, maxKv = 0;
  /// Lengths of each sequence; all equal in a dense problem.
  std::vector<int64_t> lensQ, lensKv;
  /// Paged: pages of the pool and columns of the block table.
  int64_t pages = 0, maxPages = 0;

  int64_t totalQ() const;
  int64_t totalKv() const;
  /// "b=2 sq=300 skv=300".
  std::string text() const;
  /// By package symbol, `splits` included.
  std::map<std::string, int64_t> symbols(const Spec &spec, int64_t splits) const;
};

/// Fills the sizes from "b=4,sq=1024,skv=1024" (any part may be missing) and draws lengths from
/// `seed`. \returns an error message, empty on success.
std::string makeShape(const std::string &text, const Spec &spec, uint64_t seed,
                      ProblemShape &shape);

/// Fills what follows from batch, lengths and page size.
void completeShape(const Spec &spec, ProblemShape &shape);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_PROBLEMSHAPE_H
