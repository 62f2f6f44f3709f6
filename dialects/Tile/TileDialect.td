// The tile dialect: how one CTA computes a kernel, on tiles.
#ifndef ATTNC_DIALECTS_TILE_TILEDIALECT_TD
#define ATTNC_DIALECTS_TILE_TILEDIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::mlir::tile";
  let summary = "One CTA's program on tiles: loads, matrix products, row reductions, stores";
  let description = [{
    A `tile.kernel` is the program of one CTA of a one-dimensional grid. A tile is a builtin
    `tensor` of static shape with value semantics, so that `arith` and `math` are its elementwise
    operations and `scf` its control flow; this dialect adds only what those lack: block loads and
    stores, gathers, `mma`, row reductions, shared memory and asynchronous copies.

    Global tensors are `memref`s in logical order with dynamic strides; their sizes are never read
    (lengths are scalar i32 arguments). Positions and indices are i32, addresses 64-bit.

    The same program is lowered twice. For the host, tiles become buffers and vector loops
    (`convert-tile-to-linalg`). For a GPU, `tile-pipeline-loads` moves the loads of K and V into
    staged shared memory, `tile-assign-layouts` says which thread holds which element of every tile
    (`#tile.layout`, the tensor's encoding), and `convert-tile-to-nvvm` writes the program of one
    thread.

    ```
    attn ──convert-attn-to-tile──► kv_loop, mask, softmax_step on tensors
            │  GPU: tile-pipeline-loads          (kv_loop with staged shared buffers)
            ├─ tile-split-kv-range               (kv_loop → scf.for: partial, full, partial)
            ├─ tile-expand-softmax               (softmax_step → reduce, exp2, fma)
            ├─ host: convert-tile-to-linalg ──► bufferisation, loops, LLVM
            └─ GPU: tile-assign-layouts ──► convert-tile-to-nvvm ──► LLVM, PTX
    ```

    Upstream's `gpu`/`nvgpu` speak of threads and fragments, `linalg` of whole tensors; this dialect
    sits between: it knows the CTA but, until layouts are assigned, not the thread.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect"];
}

#endif
