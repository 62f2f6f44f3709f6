// Passes inside the tile dialect.
#ifndef ATTNC_DIALECT_TILE_PASSES_TD
#define ATTNC_DIALECT_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TilePipelineLoads : Pass<"tile-pipeline-loads", "::mlir::tile::KernelOp"> {
  let summary = "Moves the loads that feed products in a kv_loop into staged shared memory";
  let options = [Option<"stages", "stages", "int64_t", "2", "Buffers for each of K and V">];
}

def TileSplitKvRange : Pass<"tile-split-kv-range", "::mlir::tile::KernelOp"> {
  let summary = "Splits a kv_loop into partial, full and partial scf.for loops; full ones lose their masks";
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numSplit", "num-split", "kv_loops split">,
                    Statistic<"numLoops", "num-loops", "scf.for loops made of them">];
}

def TileExpandSoftmax : Pass<"tile-expand-softmax", "::mlir::tile::KernelOp"> {
  let summary = "Expands softmax_step into reductions and elementwise operations";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numExpanded", "num-expanded", "softmax_steps expanded">];
}

def TileAssignLayouts : Pass<"tile-assign-layouts", "::mlir::tile::KernelOp"> {
  let summary = "Gives every tile a #tile.layout";
}

#endif
