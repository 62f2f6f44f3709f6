// Declares the passes inside the tile dialect (generated from Passes.td).
#ifndef ATTNC_DIALECT_TILE_PASSES_H
#define ATTNC_DIALECT_TILE_PASSES_H

#include "attnc/Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

#define GEN_PASS_DECL
#include "attnc/Dialect/Tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attnc/Dialect/Tile/Passes.h.inc"

} // namespace mlir::tile

#endif // ATTNC_DIALECT_TILE_PASSES_H
