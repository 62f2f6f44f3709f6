// What the outside has to know to launch a tile kernel: entry, grid, parameters, workspace. Read off
// the tile level, before the lowering turns arguments into pointers and strides. Not a file format:
// the package writer turns it into one.
#ifndef ATTNC_PIPELINES_KERNELINTERFACE_H
#define ATTNC_PIPELINES_KERNELINTERFACE_H

#include "attnc/Support/HostTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace attnc {

/// A kernel argument by its `tile.name`, in kernel order.
struct KernelParam {
  enum class Kind { Tensor, I32, F32, TensorMap };
  /// Of a tensor map: that of the tensor it describes.
  std::string name;
  Kind kind = Kind::I32;
  /// Tensors and tensor maps only. `unitInner`: the type fixes the innermost stride to 1, so it is not passed.
  DType dtype = DType::F32;
  int64_t rank = 0;
  bool unitInner = true;
  /// Static sizes of the type, -1 where dynamic.
  std::vector<int64_t> shape;
  /// Tensor maps only: extents of one copy, outermost first, and the swizzle in bytes.
  std::vector<int64_t> box;
  int64_t swizzle = 0;
};

/// One tile.kernel.
struct KernelInterface {
  std::string entry, role;
  int64_t warps = 0;
  /// A package expression: integer, symbol or [op, a, b].
  llvm::json::Value grid = 0;
  std::vector<KernelParam> params;
  /// Dynamic shared memory; known after convert-tile-to-nvvm (see readSharedBytes).
  int64_t sharedBytes = 0;
};

/// A temporary tensor that kernels exchange.
struct WorkspaceInterface {
  std::string name;
  DType dtype = DType::F32;
  /// Package expressions.
  std::vector<llvm::json::Value> shape;
};

struct ProgramInterface {
  std::vector<KernelInterface> kernels;
  std::vector<WorkspaceInterface> workspace;
};

/// Reads every tile.kernel of the module, in order. Fails, with a diagnostic, on a grid or workspace
/// attribute that is no package expression.
mlir::FailureOr<ProgramInterface> readProgramInterface(mlir::ModuleOp module);

/// Fills `sharedBytes` from the lowered functions of the same names.
mlir::LogicalResult readSharedBytes(mlir::ModuleOp lowered, ProgramInterface &program);

} // namespace attnc

#endif // ATTNC_PIPELINES_KERNELINTERFACE_H
