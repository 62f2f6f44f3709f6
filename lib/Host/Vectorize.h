// What the two halves of host-vectorize share. Not a public interface.
#ifndef ATTNC_LIB_HOST_VECTORIZE_H
#define ATTNC_LIB_HOST_VECTORIZE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace attnc {

/// Shape of the vector code.
struct VectorShape {
  /// f32 elements of a vector, a power of two.
  int64_t lanes;
  /// A product's register block: rows × (columns · lanes) accumulators.
  int64_t rows, columns;
};

/// Replaces a product of f32 buffers by a register-blocked loop nest. Fails, changing nothing, on
/// other types.
mlir::LogicalResult vectorizeMatmul(mlir::RewriterBase &rewriter, mlir::linalg::MatmulOp op,
                                    const VectorShape &shape);

/// Replaces a generic op on buffers by loops of vectors over its innermost dimension. Fails,
/// changing nothing, when the body is not elementwise or a shape is dynamic.
mlir::LogicalResult vectorizeGeneric(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
                                     const VectorShape &shape);

} // namespace attnc

#endif // ATTNC_LIB_HOST_VECTORIZE_H
