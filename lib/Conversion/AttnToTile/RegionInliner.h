// Writes a score, mask or bounds region, which speaks of one (q, kv) pair, on whole tiles.
//
// A worked example: in `kv <= q + (len_kv - len_q)` over a 64×32 score tile, the difference of the
// lengths is a scalar; q is a column of 64 positions, so the sum stays a rank-1 tile of 64; kv is a
// row of 32. Only the comparison needs both, so only there are they broadcast to 64×32.
//
// Why track axes and not broadcast every position at once: a value that does not depend on the key
// is computed once per tile of rows, outside the loop over keys.
#ifndef ATTNC_LIB_CONVERSION_ATTNTOTILE_REGIONINLINER_H
#define ATTNC_LIB_CONVERSION_ATTNTOTILE_REGIONINLINER_H

#include "TileBuilder.h"
#include "mlir/IR/IRMapping.h"

namespace attnc {

/// Along which axes of the score tile a value varies (a bit set).
enum Axes : unsigned { kUniform = 0, kRows = 1, kKeys = 2, kBoth = kRows | kKeys };

/// A scalar, a rank-1 tile along the rows or the keys, or a rank-2 tile.
struct Varying {
  mlir::Value value;
  unsigned axes = kUniform;
  /// Whether it is computed from a position or a length: as the index of a lookup it is then
  /// inside the tensor only if the sequence has keys.
  bool positional = false;
};

/// What a region's body may be written in terms of.
struct InlineScope {
  /// Values of the function to values of the kernel.
  const mlir::IRMapping &captures;
  /// Extents of the score tile; unused by regions on scalars.
  int64_t rows = 0, keys = 0;
  /// i1: the sequence has a key.
  mlir::Value hasKeys;
  /// i1 tiles [rows] and [keys]: the row and the key exist. Null for regions on scalars.
  mlir::Value rowExists, keyExists;
};

class RegionInliner {
public:
  /// Values that do not vary with the key are built by `outer`, the others by `inner`.
  RegionInliner(const InlineScope &scope, TileBuilder &outer, TileBuilder &inner)
      : scope(scope), outer(outer), inner(inner) {}

  /// Writes the region's ops for the given arguments; returns what it yields. Fails with a
  /// diagnostic on an op that is not elementwise.
  llvm::FailureOr<llvm::SmallVector<Varying>> inlineRegion(mlir::Region &region,
                                                           llvm::ArrayRef<Varying> arguments);

  /// `value` as a tile that varies along `axes` (a superset of its own).
  mlir::Value toTile(const Varying &value, unsigned axes);

private:
  mlir::LogicalResult inlineOp(mlir::Operation &op);
  Varying inlineLookup(mlir::Operation &op);
  Varying lookup(mlir::Value value) const;
  TileBuilder &builderFor(unsigned axes) { return axes & kKeys ? inner : outer; }
  llvm::SmallVector<int64_t, 2> shapeOf(unsigned axes) const;

  InlineScope scope;
  TileBuilder &outer, &inner;
  llvm::DenseMap<mlir::Value, Varying> values;
};

} // namespace attnc

#endif // ATTNC_LIB_CONVERSION_ATTNTOTILE_REGIONINLINER_H
