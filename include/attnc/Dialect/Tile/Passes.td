// Passes inside the tile dialect.
#ifndef ATTNC_DIALECT_TILE_PASSES_TD
#define ATTNC_DIALECT_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TilePipelineLoads : Pass<"tile-pipeline-loads", "::mlir::tile::KernelOp"> {
  let summary = "Moves the loads that feed products in a kv_loop into staged shared memory";
  let description = [{
    Input: a kernel whose `tile.kv_loop` still reads K and V with `tile.load` or `tile.gather`, each
    used once, as the second operand of a `tile.mma`. Output: the same loop over `stages` shared
    buffers a load; the block `stages − 1` steps ahead is copied while this one is computed, and the
    loop carries the index of the current stage. What a load's address needs is cloned for the block
    ahead; an address that depends on carried values is an error. With `q_in_shared` in the kernel's
    `tile.schedule` the loop-invariant first operand moves to shared memory too.

    One barrier a step suffices: it publishes the copies that this step reads, and tells that every
    warp has left the stage which this step's copies overwrite. Comes before
    `tile-split-kv-range`, so that the pipeline runs on across the partial and full loops. The host
    does not use it.

    ```mlir
    %k = tile.load %src[%b, %h, %n0] limit %len …        tile.async_wait 0
    %s = tile.mma %q, %k, %zero transpose_b …            tile.barrier
                                                    ──►  scf.if %exists { tile.copy_async … into %ahead }
                                                         tile.async_commit
                                                         %k = tile.stage %buffer[%stage] …
                                                         %s = tile.mma %q, %k, %zero transpose_b …
    ```
    The example is `@pipelines_products` in `test/Dialect/Tile/pipeline-loads.mlir`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"stages", "stages", "int64_t", "2", "Buffers for each of K and V">];
}

def TilePersist : Pass<"tile-persist", "::mlir::tile::KernelOp"> {
  let summary = "Makes a kernel's CTAs loop over the grid, as many as the device has multiprocessors";
  let description = [{
    Wraps the body of a kernel whose `tile.schedule` has `persistent` in a loop over program ids
    p, p + n, p + 2n, … below the old grid's size, and makes the grid min(old size,
    `multiprocessors`). The size is computed in the kernel from its scalar arguments; a grid
    expression with any other symbol is an error. Without the attribute nothing changes.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def TileSpecializeWarps : Pass<"tile-specialize-warps", "::mlir::tile::KernelOp"> {
  let summary = "Splits a kernel into a warp role that copies and one that computes";
  let description = [{
    Input: a kernel whose `tile.schedule` has `warp_specialized`, with one `tile.kv_loop` that reads K
    and V by `tile.load`, and Q by `tile.load` outside. Output: a `tile.warp_roles` of a producer
    warp group, one elected thread of which copies Q, K and V with `tile.tma_load` through tensor
    maps (new kernel arguments `q.map`, `k.map`, `v.map`), and the consumer warps, which run the
    original body on swizzled shared buffers. Full and empty mbarriers a stage connect them; both
    sides count KV blocks and tiles in step, across tiles of a persistent loop, and derive stage and
    parity from the counts: block i uses stage i mod stages in phase i div stages.

    Run after `tile-persist` and before `tile-overlap-products`. Without the attribute nothing
    changes.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def TileOverlapProducts : Pass<"tile-overlap-products", "::mlir::tile::KernelOp"> {
  let summary = "Overlaps the softmax of a block with the P·V product of the block before";
  let description = [{
    Rotates the consumer's `tile.kv_loop`: a step issues Q·Kᵀ of its block and P·V of the previous one
    as `tile.mma_async`, waits for the scores, computes their softmax while P·V runs, and only then
    waits for the accumulator. The first block's scores and the last block's P·V move out of the
    loop, guarded by the range not being empty. Each buffer is released after the wait that covers its
    product; the wait for P·V also holds P, whose registers the product reads while in flight.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def TileSplitKvRange : Pass<"tile-split-kv-range", "::mlir::tile::KernelOp"> {
  let summary = "Splits a kv_loop into partial, full and partial scf.for loops; full ones lose their masks";
  let description = [{
    Input: kernels with `tile.kv_loop`, before or after `tile-pipeline-loads`. Output: no `kv_loop` and
    no `tile.mask`; each loop is up to three `scf.for` loops over [lower, begin), [begin, end) and
    [end, upper) that thread the carried values, with

    ```
    begin = ⌈full_lower / step⌉·step    end = ⌊full_upper / step⌋·step    both kept inside [lower, upper]
    ```

    In the outer loops a mask becomes `arith.select` of −∞, in the middle one it is dropped, with all
    that only it used: no block is masked that the mask's analysis showed to be wholly visible. A loop
    whose ends are one value or equal constants is not made (a causal mask has no leading partial
    loop); a body without masks stays one loop. Invariant: the blocks visited, and their order, are
    those of the kv_loop.

    ```mlir
    %r = tile.kv_loop %c0 to %hi full(%other0 to %fhi) step 64    %r = scf.for %n = %c0 to %end step %c64
        init(%init) {                                                 iter_args(%s = %init) {
    ^bb0(%n0: i32, %s: tensor<16x64xf32>):                          scf.yield %s
      %masked = tile.mask %s : tensor<16x64xf32> {           ──►  }
        tile.yield %p : tensor<16x64xi1>                          %t = scf.for %n = %end to %hi step %c64
      }                                                               iter_args(%s = %r) {
      tile.yield %masked                                            %masked = arith.select %p, %s, %neg_inf
    }                                                               scf.yield %masked
                                                                  }
    ```
    The example is `@causal_has_two_loops` in `test/Dialect/Tile/split-kv-range.mlir`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numSplit", "num-split", "kv_loops split">,
                    Statistic<"numLoops", "num-loops", "scf.for loops made of them">];
}

def TileExpandSoftmax : Pass<"tile-expand-softmax", "::mlir::tile::KernelOp"> {
  let summary = "Expands softmax_step into reductions and elementwise operations";
  let description = [{
    Input: kernels with `tile.softmax_step`. Output: its formulas as `tile.reduce`, `arith`,
    `math.exp2` and `math.fma`, all f32. Independent of the other passes; the usual place is after
    `tile-split-kv-range`.

    The weights are one fma and one exp2 an element, 2^(c·s − c·m). A row that has seen no score above
    −∞ measures from m = 0, so that nothing subtracts −∞ from −∞ and its weights are 0. The correction
    is taken between the rounded offsets c·m, not by an fma: it is exactly the change of the offset
    that earlier weights were made with, however large the scores.

    ```mlir
                                                    %b = tile.reduce <max> %s dim 1
                                                    %m1 = arith.maxnumf %m, %b
                                                    %off = arith.mulf %safe, %c     // safe: 0 if m1 = −∞
    %w, %m1, %l1, %c = tile.softmax_step %s, %m, %l   ──►  %w = math.exp2 (math.fma %s, %c, −%off)
        scale 0.25                                  %corr = math.exp2 (%m · %c − %off)
                                                    %sum = tile.reduce <sum> %w dim 1
                                                    %l1 = math.fma %l, %corr, %sum
    ```
    The example is `@step` in `test/Dialect/Tile/expand-softmax.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numExpanded", "num-expanded", "softmax_steps expanded">];
}

def TileAssignLayouts : Pass<"tile-assign-layouts", "::mlir::tile::KernelOp"> {
  let summary = "Gives every tile a #tile.layout";
  let description = [{
    Input: a kernel without `tile.kv_loop`, its products' second operands in shared memory. Output:
    every tile's tensor type carries a `#tile.layout`; `tile.convert_layout` stands where one value
    is needed in two layouts.

    Products anchor the accumulator fragments of `mma.m16n8k16`, which are also those of 16-bit first
    operands: P needs no shuffle between the two products. Elementwise ops, reductions (the slice of
    their source), loops and branches pass layouts on. Constants, iotas, splats, broadcasts, loads
    and gathers, and arithmetic on only those, are made anew in each layout that a use asks for.
    Tiles that no product reaches are spread over the lanes of every warp alike.

    ```mlir
    %i = tile.iota : tensor<64xi32>          %rows = tile.iota : tensor<64xi32, #rows>
                                        ──►  %keys = tile.iota : tensor<64xi32, #keys>
    ```
    The example is `@remakes_iota` in `test/Dialect/Tile/assign-layouts.mlir`.
  }];
}

#endif
