// Passes between dialects.
#ifndef ATTNC_CONVERSION_PASSES_TD
#define ATTNC_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToTile : Pass<"convert-attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Tiles configured attention ops into the kernel of one CTA";
  let description = [{
    Input: functions that hold one `attn.prefill` or `attn.decode` with a config and a bounds region
    (and, for a split decode, the `attn.combine` that merges it), or an `attn.combine` of arguments;
    arguments and results are named by `attn.name`. Output: the function is gone; a `tile.kernel` of
    its name computes it, and one named `…_combine` merges the parts. Functions without attention ops
    stay. `attn-resolve-variant`, `attn-derive-kv-bounds`, `attn-choose-config` and `attn-split-kv`
    come before.

    - *Grid.* One CTA a (sequence, head, block of rows, split), blocks of rows fastest, so that CTAs in
      flight share the K and V of few heads. Where later rows see more keys they come first. CTAs
      beyond a shorter sequence's end do nothing.
    - *Rows* are queries, or with `packGqa` query r / group of head hk·group + r mod group.
    - *Keys.* The bounds region, on scalars, gives the ends of the `tile.kv_loop`, which visits whole
      blocks; its `tile.mask` is the mask region and key < len_kv.
    - *Regions* are written on tiles: a value is a scalar, a tile along the rows or the keys, or the
      whole score tile, as its operands require; what does not depend on the key is computed before
      the loop. A lookup reads only pairs whose row and key exist.
    - *Lengths* come from `kv_lens` (kept inside the tensor), `cu_seqlens_*` or the tensor's extents;
      keys past them are neither read nor counted, whatever memory holds there.
    - *Scale.* With the identity score it is part of the exponent, else it multiplies the scores.
    - *Epilogue.* The sink logit is added to the denominator once; a row that saw no key gives 0 and
      −∞ (or the sink).
    - *Splits.* Split s takes the s-th run of ⌈blocks / splits⌉ blocks and writes `o_part` and
      `lse_part`, declared by the module's `tile.workspace`; the merge is one warp a row, with (0, −∞)
      exactly neutral.

    Arguments of the kernel: q, k, v, o, lse (if returned), kv_lens, cu_seqlens_q, cu_seqlens_kv,
    block_table, sinks (each if given), captured arguments in the function's order, batch, max_len_q,
    max_len_kv, and splits if the result is partial.

    ```mlir
    %o, %lse = attn.prefill %q, %k, %v {config = …}
      mask {…} bounds {…}
              │
              ▼
    scf.if %any {
      %qt = tile.load %q[%b, %h, %m0] limit %len_q
      %r:3 = tile.kv_loop %lower to %upper full(%full_lower to %full_upper) step 64 init(…) {
      ^bb0(%n0: i32, %acc: tensor<64x128xf32>, %max: tensor<64xf32>, %sum: tensor<64xf32>):
        %kt = tile.load %k[%b, %hk, %n0] limit %len_kv
        %vt = tile.load %v[%b, %hk, %n0] limit %len_kv
        %s = tile.mma %qt, %kt, %zero transpose_b
        %masked = tile.mask %s { … tile.yield %visible }
        %w, %m1, %l1, %corr = tile.softmax_step %masked, %max, %sum scale 0.127517432
        %scaled = arith.mulf %acc, (tile.broadcast %corr dim 1)
        %next = tile.mma (arith.truncf %w), %vt, %scaled
        tile.yield %next, %m1, %l1
      }
      tile.store …, %o[%b, %h, %m0] limit %len_q
      tile.scatter …, %lse[%b, %h, %rows] where %exists
    }
    ```
    The example is `@causal` in `test/Conversion/AttnToTile/prefill.mlir`.
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertTileToNVVM : Pass<"convert-tile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Writes the program of one thread: tiles become registers, mma and cp.async NVVM ops";
  let description = [{
    Input: kernels after `tile-assign-layouts`. Output: one `llvm.func` a kernel with `nvvm.kernel`,
    `nvvm.maxntid` and `tile.shared_bytes`; its body mixes scf, arith, math, llvm and nvvm, which
    upstream passes lower on.

    The conversion is one to many: a tile becomes the scalars that its layout gives a thread, a memref
    its base pointer and dynamic strides, a shared buffer a pointer into the one dynamic shared array.
    Products become `ldmatrix` and `mma.sync.m16n8k16`, row reductions a tree over registers and
    butterfly shuffles, copies 16-byte `cp.async` with zero fill, and f32 exp2, log2 and tanh the
    special function unit's instructions. A layout or type that has no lowering is an error at the op.

    Examples are in `test/Conversion/TileToNVVM/`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertTileToLinalg : Pass<"convert-tile-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Rewrites a tile kernel as a function on tensors and linalg for the host";
  let description = [{
    Input: `tile.kernel`s after `tile-split-kv-range` and `tile-expand-softmax` (no `kv_loop`, `mask`,
    `softmax_step`, shared memory or layouts). Output: one `func.func` a kernel with the same
    arguments and a last i32, the program id; tiles are tensors, global memory memrefs.

    - Elementwise ops, `splat`, `iota` and `broadcast` become parallel `linalg.generic`s (`iota` from
      `linalg.index`), so that they fuse; `reduce` a `linalg.generic` with one reduction.
    - `mma` converts its operands to f32 once, transposing b, and is a `linalg.matmul` in f32.
    - `load`, `store` and row gathers and scatters are loops over rows that copy a row's columns;
      element gathers are `linalg.generic`s whose body loads. Memory of a row at or past the limit,
      or of a false predicate, is never touched, so that it may hold NaN or not exist.
    - A tile of i1 is stored as i8, one byte an element.

    Must run before: one-shot-bufferize (the function has no tensor at its boundary). The next passes
    are those of the pipeline `tile-to-host-llvm`.

    ```mlir
    %t = tile.load %src[%pid, %c0] limit %limit : !src -> tensor<16x48xbf16>   // 40 columns exist
    // becomes
    %buffer = memref.alloc() : memref<16x48xbf16>
    %count = …                                          // min(max(limit − 0, 0), 16)
    scf.for %row = %c0 to %count step %c1 {
      linalg.copy ins(%src[%pid, %row, 0:40]) outs(%buffer[%row, 0:40])     // memref.subviews
      linalg.fill ins(%zero) outs(%buffer[%row, 40:48])
    }
    scf.for %row = %count to %c16 step %c1 { linalg.fill ins(%zero) outs(%buffer[%row, 0:48]) }
    %t = bufferization.to_tensor %buffer restrict
    ```
    (test/Conversion/TileToLinalg/convert-tile-to-linalg.mlir, `@load`.)
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif
