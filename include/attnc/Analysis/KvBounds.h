// From a mask set to the keys a block of query rows can see, symbolically. Emission as IR is
// attn-derive-kv-bounds; rounding to blocks of keys is the tile level's.
//
// For the rows [q_first, q_last] of one sequence and every value of the symbols:
//
//   0 ≤ lower ≤ full_lower ≤ full_upper ≤ upper ≤ len_kv
//   some row may see kv         ⇒  lower ≤ kv < upper            (skip the rest)
//   full_lower ≤ kv < full_upper ⇒  every row sees kv              (no mask needed)
//
// Visible is the hull of the projection of mayShow along q. Full is what remains of [0, len_kv)
// after removing the projection of mayHide: hidden ranges that reach an end of the keys bound it
// from that side, and for one in the middle the larger side is kept, at run time.
//
// Projection is Fourier–Motzkin. It is exact over the integers when, of every two constraints that
// meet, one has a coefficient ±1 on q; else it over-approximates, which is sound for both sets.
#ifndef ATTNC_ANALYSIS_KVBOUNDS_H
#define ATTNC_ANALYSIS_KVBOUNDS_H

#include "attnc/Analysis/BoundExpr.h"
#include "attnc/Analysis/MaskSet.h"

namespace attnc {

/// Longest sequence of queries or keys that is assumed. Sums of two positions then fit i32, so that
/// the bounds of the named masks need no i64.
inline constexpr int64_t kMaxSequenceLength = (int64_t(1) << 30) - 1;

/// Which symbols of a mask set are the region's own arguments, and what is known of them.
struct KvBoundsSymbols {
  /// Index into MaskSet::symbols, or −1 where the mask does not use the argument.
  int batch = -1, head = -1, lenQ = -1, lenKv = -1;
  int64_t headsQ = 1;
};

/// The four bounds. Rows of the expressions have the mask set's symbols followed by those of the
/// columns below that are not among them (len_q and len_kv may be).
struct KvBounds {
  BoundRef lower, fullLower, fullUpper, upper;
  /// Columns of q_first, of min(q_last, len_q − 1), len_q and len_kv in the rows.
  unsigned qFirst, qLast, lenQ, lenKv;
  unsigned numSymbols;
  /// Whether i32 arithmetic is enough to evaluate all four.
  bool fitsI32;
};

/// Requires 0 ≤ q_first ≤ min(q_last, len_q − 1): a block has at least one row that exists.
KvBounds computeKvBounds(const MaskSet &mask, const KvBoundsSymbols &symbols);

} // namespace attnc

#endif // ATTNC_ANALYSIS_KVBOUNDS_H
