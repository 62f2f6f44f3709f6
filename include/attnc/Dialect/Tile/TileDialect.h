// The tile dialect's types of C++: dialect, types, attributes and ops. The layout algebra is in
// TileLayout.h, rewrites in Passes.h.
#ifndef ATTNC_DIALECT_TILE_TILEDIALECT_H
#define ATTNC_DIALECT_TILE_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attnc/Dialect/Tile/TileDialect.h.inc"
#include "attnc/Dialect/Tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Tile/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "attnc/Dialect/Tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "attnc/Dialect/Tile/TileOps.h.inc"

namespace mlir::tile {
/// Module attribute: array of dictionaries {name, dtype, shape} of the workspace tensors, in the
/// package's form, that the module's kernels exchange.
inline constexpr StringLiteral kWorkspaceAttrName = "tile.workspace";
/// Kernel attribute: a dictionary of schedule choices for the GPU passes: `stages` (i64);
/// `q_in_shared` (unit) when the invariant A operand is re-read from shared memory; `ctas_per_sm`
/// (i64) that registers must leave room for; `warp_specialized` and `persistent` (unit).
inline constexpr StringLiteral kScheduleAttrName = "tile.schedule";
/// Attribute of a lowered kernel: bytes of dynamic shared memory it needs (i64).
inline constexpr StringLiteral kSharedBytesAttrName = "tile.shared_bytes";
} // namespace mlir::tile

#endif // ATTNC_DIALECT_TILE_TILEDIALECT_H
