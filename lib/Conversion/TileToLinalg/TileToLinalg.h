// What the files of the tile→linalg conversion share: its pattern sets. Not a public interface.
#ifndef ATTNC_LIB_CONVERSION_TILETOLINALG_TILETOLINALG_H
#define ATTNC_LIB_CONVERSION_TILETOLINALG_TILETOLINALG_H

#include "mlir/Transforms/DialectConversion.h"

namespace attnc {

/// tile.load, store, gather and scatter: loops over rows or elements that touch no memory whose row
/// or predicate is out of range.
void populateGlobalMemoryPatterns(const mlir::TypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);

/// An element of a predicate tile as the i1 it stands for. Tiles of i1 are stored as tiles of i8
/// (0 or 1), since a vector of i1 in memory is packed bits while a memref of i1 is bytes.
mlir::Value predicateFromStorage(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                 mlir::Type elementType);

} // namespace attnc

#endif // ATTNC_LIB_CONVERSION_TILETOLINALG_TILETOLINALG_H
