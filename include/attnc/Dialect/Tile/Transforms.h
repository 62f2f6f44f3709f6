// Rewrites inside the tile dialect that more than one pass uses.
#ifndef ATTNC_DIALECT_TILE_TRANSFORMS_H
#define ATTNC_DIALECT_TILE_TRANSFORMS_H

#include "attnc/Dialect/Tile/TileDialect.h"

namespace mlir::tile {

/// Replaces a mask by a selection of −∞ where its predicate is false; returns the selection.
Value applyMask(MaskOp mask);

} // namespace mlir::tile

#endif // ATTNC_DIALECT_TILE_TRANSFORMS_H
