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
  /// Packed: tokens that the buffers of q and o, and of k and v, hold behind the last sequence.
  int64_t tailQ = 0, tailKv = 0;
  /// Paged: pages of the pool and columns of the block table.
  int64_t pages = 0, maxPages = 0;

  int64_t totalQ() const;
  int64_t totalKv() const;
  /// "b=2 sq=300 skv=300".
  std::string text() const;
  /// By package symbol, `splits` included.
  std::map<std::string, int64_t> symbols(const Spec &spec, int64_t splits) const;
};

/// Largest batch and longest sequence: kernels count both in 32 bits.
inline constexpr int64_t kMaxExtent = INT32_MAX;

/// Fills batch, maxQ and maxKv from "b=4,sq=1024,skv=1024"; any part may be missing. Allocates
/// nothing. \returns an error message, empty on success.
std::string parseShape(const std::string &text, const Spec &spec, ProblemShape &shape);

/// Draws the lengths of a parsed shape's sequences from `seed`, and completes it.
void drawShape(const Spec &spec, uint64_t seed, ProblemShape &shape);

/// The extent chosen for dimension `dim` of a tensor argument where the spec leaves it open, from
/// what the argument seems to be.
int64_t openExtent(const SpecArg &arg, size_t dim, const ProblemShape &shape);

/// Fills what follows from batch, lengths and page size.
void completeShape(const Spec &spec, ProblemShape &shape);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_PROBLEMSHAPE_H
