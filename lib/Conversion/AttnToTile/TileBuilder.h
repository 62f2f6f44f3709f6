// A builder with the i32 arithmetic and the tile construction that the conversion writes all the
// time. It folds as it builds; it knows nothing of attention.
#ifndef ATTNC_LIB_CONVERSION_ATTNTOTILE_TILEBUILDER_H
#define ATTNC_LIB_CONVERSION_ATTNTOTILE_TILEBUILDER_H

#include "attnc/Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attnc {

/// Scalars are i32 and not negative where a division or remainder is taken, so that these are
/// unsigned (a shift or mask for powers of two).
class TileBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value i32(int64_t value);
  mlir::Value f32(double value);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// ⌈a / b⌉ for a constant b > 0.
  mlir::Value ceilDiv(mlir::Value a, int64_t b);
  /// ⌊a / b⌋·b for a constant b > 0.
  mlir::Value roundDown(mlir::Value a, int64_t b);
  /// a < b, signed, elementwise on tiles.
  mlir::Value less(mlir::Value a, mlir::Value b);

  /// The tile type of that shape.
  mlir::RankedTensorType tileType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// A constant f32 tile.
  mlir::Value dense(double value, llvm::ArrayRef<int64_t> shape);
  /// A tile of one scalar; of a constant, a constant tile.
  mlir::Value splat(mlir::Value scalar, llvm::ArrayRef<int64_t> shape);
  /// A rank-1 tile repeated along the new dimension `dim` of extent `extent`.
  mlir::Value broadcast(mlir::Value tile, int64_t dim, int64_t extent);
  /// start, start + 1, … as a rank-1 tile.
  mlir::Value range(mlir::Value start, int64_t size);
  /// One element of a memref at i32 indices.
  mlir::Value loadScalar(mlir::Value memref, llvm::ArrayRef<mlir::Value> indices);
};

/// Erases operations of `region` whose results nobody uses and that have no effect.
void eraseDeadOps(mlir::Region &region);

} // namespace attnc

#endif // ATTNC_LIB_CONVERSION_ATTNTOTILE_TILEBUILDER_H
