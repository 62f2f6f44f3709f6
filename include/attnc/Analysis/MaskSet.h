// A mask region as two unions of integer polyhedra. Only the algebra of the mask is here; what it
// means for a block of query rows is KvBounds.h.
//
// Worked by hand, for `kv < prefix or kv ≤ q + len_kv − len_q` (prefix-LM, bottom-right):
//
//   symbols   prefix, len_kv, len_q
//   mayShow   { prefix − kv − 1 ≥ 0 }  ∪  { q + len_kv − len_q − kv ≥ 0 }
//   mayHide   { kv − prefix ≥ 0  and  kv − q − len_kv + len_q − 1 ≥ 0 }
//
// Why two sets, and not a set and its complement? A condition that is not affine (a lookup that
// depends on q, a quotient, …) is *opaque*: it may hold anywhere and fail anywhere. Each set
// over-approximates: (q, kv) outside mayShow is certainly hidden, outside mayHide certainly
// visible. For a mask without opaque conditions they are exact complements.
#ifndef ATTNC_ANALYSIS_MASKSET_H
#define ATTNC_ANALYSIS_MASKSET_H

#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace attnc {

/// See the file's header. The sets' space has the dimensions (q, kv) and one symbol for each of
/// `symbols`, in order.
struct MaskSet {
  /// Values that do not depend on q or kv: arguments of the region, captured values, or values of
  /// the region itself. Of type i32, or i1 (then the symbol is 0 or 1).
  llvm::SmallVector<mlir::Value> symbols;
  mlir::presburger::PresburgerSet mayShow, mayHide;
  /// Conditions that bound nothing.
  unsigned numOpaque = 0;
};

/// Columns of a constraint of a MaskSet: q, kv, the symbols, the constant.
inline constexpr unsigned kMaskQ = 0, kMaskKv = 1, kMaskFirstSymbol = 2;

/// Extracts the set of a non-empty mask region of an attn op.
///
/// Understood exactly: andi, ori, xori, select and constants of i1; cmpi (signed, eq, ne) on sums,
/// differences, products with constants, minsi, maxsi and selects of positions and symbols. i32
/// arithmetic is taken not to overflow (the semantics contract asks that of masks).
MaskSet computeMaskSet(mlir::Region &mask);

} // namespace attnc

#endif // ATTNC_ANALYSIS_MASKSET_H
