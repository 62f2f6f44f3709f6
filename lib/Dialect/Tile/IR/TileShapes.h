// Checks of shapes that verifiers of several tile ops share. Not for use outside
// lib/Dialect/Tile/IR.
#ifndef ATTNC_LIB_DIALECT_TILE_IR_TILESHAPES_H
#define ATTNC_LIB_DIALECT_TILE_IR_TILESHAPES_H

#include "attnc/Dialect/Tile/TileDialect.h"

namespace mlir::tile {

/// C1 of tile.load and its relatives: `memref` read or written as consecutive rows of a
/// [rows, columns] block with that element type, addressed by `numIndices` indices.
LogicalResult verifyRowBlock(Operation *op, MemRefType memref, size_t numIndices,
                             ArrayRef<int64_t> block, Type element);

/// C1 and C2 of tile.gather and its relatives. With `rowsOnly` the element form is refused.
LogicalResult verifyIndexed(Operation *op, MemRefType memref, ValueRange indices, Value where,
                            ArrayRef<int64_t> block, Type element, bool rowsOnly);

/// C1 of tile.mma and tile.mma_async.
LogicalResult verifyProduct(Operation *op, Type a, Type b, RankedTensorType acc, bool transposeB);

} // namespace mlir::tile

#endif // ATTNC_LIB_DIALECT_TILE_IR_TILESHAPES_H
