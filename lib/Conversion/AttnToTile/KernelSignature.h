// The arguments of a tile kernel made from a function with attention ops: which of the function's
// arguments it takes, their memref types and names. Says nothing of what the kernel does.
#ifndef ATTNC_LIB_CONVERSION_ATTNTOTILE_KERNELSIGNATURE_H
#define ATTNC_LIB_CONVERSION_ATTNTOTILE_KERNELSIGNATURE_H

#include "TileBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace attnc {

/// The memref that stands for a tensor argument: dynamic extents and strides. With `rowMajor` (q,
/// k, v, o and partial o) the last extent is static and its stride 1.
mlir::MemRefType kernelMemRefType(mlir::RankedTensorType tensor, bool rowMajor);

/// Collects arguments, then makes the kernel.
class KernelSignature {
public:
  explicit KernelSignature(mlir::func::FuncOp func) : func(func) {}

  /// Adds an argument that stands for no value of the function, or for a result.
  void add(llvm::StringRef name, mlir::Type type);
  /// Adds the function's argument behind `value`, once. Fails with a diagnostic if `value` is not
  /// an argument with an `attn.name`.
  mlir::LogicalResult addArgument(mlir::Value value, bool rowMajor = false);
  /// Adds whatever `regions` capture: the function's arguments in their order; the pure ops on
  /// scalars between them and the regions are remembered, to be cloned into the kernel.
  mlir::LogicalResult addCaptures(llvm::ArrayRef<mlir::Region *> regions);

  /// Creates the kernel before the function, with an entry block ended by tile.return, clones the
  /// captured ops into it, and maps the function's values to the kernel's.
  mlir::tile::KernelOp create(llvm::StringRef name, int64_t warps, llvm::StringRef role,
                              mlir::Attribute grid, mlir::IRMapping &captures);

  /// The kernel's argument of that name, or null.
  static mlir::Value find(mlir::tile::KernelOp kernel, llvm::StringRef name);

private:
  mlir::LogicalResult visitCapture(mlir::Value value);

  mlir::func::FuncOp func;
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Value> sources;
  llvm::SmallVector<mlir::Value> capturedArguments;
  llvm::SetVector<mlir::Operation *> capturedOps;
};

/// Names arguments and results of the function.
inline constexpr llvm::StringLiteral kAttnName = "attn.name";

/// The attn.name of the function's result that returns `value`; empty if it is not returned.
llvm::StringRef returnedAs(mlir::func::FuncOp func, mlir::Value value);

/// Expressions of the package format, for grids and workspace shapes.
mlir::Attribute symbol(mlir::Builder &builder, llvm::StringRef name);
mlir::Attribute number(mlir::Builder &builder, int64_t value);
mlir::Attribute binary(mlir::Builder &builder, llvm::StringRef op, mlir::Attribute a,
                       mlir::Attribute b);

} // namespace attnc

#endif // ATTNC_LIB_CONVERSION_ATTNTOTILE_KERNELSIGNATURE_H
