// Ops of the tile dialect: structure, global memory, tile construction, products and reductions.
#ifndef ATTNC_DIALECTS_TILE_TILEOPS_TD
#define ATTNC_DIALECTS_TILE_TILEOPS_TD

include "TileTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "The program of one CTA of a one-dimensional grid";
  let description = [{
    Arguments are global tensors (memrefs) and i32 or f32 scalars, each with a `tile.name`, by which
    the runtime binds it. `grid` is an expression of the package format (integers, symbol names,
    nested arrays), `warps` the number of warps of the CTA, `role` "main" or "combine".

    Constraints:
    - C1: every argument is a memref, tensor_map, i32 or f32 and has a unique `tile.name`; there are no results.
    - C2: 1 ≤ warps ≤ 32.
    - C3: `role` is "main" or "combine".
    - C4: `grid` is an integer, a symbol name, or [op, a, b] with op one of add, sub, mul, ceildiv,
      min, max.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       I32Attr:$warps, StrAttr:$role, AnyAttr:$grid,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The `tile.name` of argument `index`.
    ::llvm::StringRef getArgName(unsigned index);
    static ::llvm::StringRef getNameAttrName() { return "tile.name"; }
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "Ends a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "The CTA's index in the one-dimensional grid";
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict `:` type($id)";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "The number of CTAs in the grid";
  let results = (outs I32:$count);
  let assemblyFormat = "attr-dict `:` type($count)";
}

def Tile_KvLoopOp : Tile_Op<"kv_loop", [SingleBlockImplicitTerminator<"YieldOp">,
                                        RecursiveMemoryEffects]> {
  let summary = "A loop over blocks of keys that knows which blocks need no mask";
  let description = [{
    Runs over block starts n0 = lower, lower + step, … while n0 < upper; `lower` is a multiple of the
    step. Every key of a block with full_lower ≤ n0 and n0 + step ≤ full_upper is visible to every
    row of the tile: on such a block every `tile.mask` in the body is the identity. The body's
    arguments are n0 and the carried values. `tile-split-kv-range` turns it into up to three
    `scf.for` loops and drops the masks of the middle one.

    Constraints:
    - C1: inits, body arguments after n0, yielded values and results agree in number and type.
    - C2: step is positive.
  }];
  let arguments = (ins I32:$lower, I32:$upper, I32:$full_lower, I32:$full_upper,
                       Variadic<AnyType>:$inits, I32Attr:$step);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $lower `to` $upper `full` `(` $full_lower `to` $full_upper `)` `step` $step
    (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword (`->` type($results)^)? $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getBlockStart() { return getBody().getArgument(0); }
    ::mlir::Block::BlockArgListType getCarried() { return getBody().getArguments().drop_front(); }
  }];
}

def Tile_MaskOp : Tile_Op<"mask", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
                                   AllTypesMatch<["scores", "result"]>]> {
  let summary = "Scores whose predicate is false become −∞; the identity on full blocks";
  let description = [{
    The body computes the predicate and must be free of effects other than reads, since
    `tile-split-kv-range` drops it where the enclosing loop promises that all is visible.

    Constraints:
    - C1: the body has no arguments and yields one i1 tile of the shape of the scores.
  }];
  let arguments = (ins Tile_FloatTile:$scores);
  let results = (outs Tile_FloatTile:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$scores attr-dict-with-keyword `:` type($scores) $body";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["KvLoopOp", "MaskOp", "WarpRolesOp"]>]> {
  let summary = "Ends the body of a kv_loop, a mask or a warp role";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ (void)odsState; }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tile_SoftmaxStepOp : Tile_Op<"softmax_step", [Pure,
    AllTypesMatch<["scores", "weights"]>,
    AllTypesMatch<["max", "sum", "new_max", "new_sum", "correction"]>]> {
  let summary = "One step of the online softmax over a block of scores";
  let description = [{
    With c = `exponent_scale` (log₂e times whatever scales the scores; positive):

    ```
    new_max    = max(max, rowmax(scores))
    weights    = 2^(c·(scores − new_max))
    correction = 2^(c·(max − new_max))
    new_sum    = sum·correction + rowsum(weights)
    ```

    where a row without any score above −∞ has weights 0 and correction 0. The state (max, sum,
    acc = Σ weights·V) is associative along the keys: steps may be regrouped, and two states merged,
    by the same formulas. Whoever uses the state multiplies the accumulator by `correction` before
    adding this block's products, and divides by the sum at the end.

    Constraints:
    - C1: scores is a rank-2 f32 tile [rows, keys]; max and sum are f32 tiles [rows].
    - C2: exponent_scale is finite and positive.
  }];
  let arguments = (ins Tile_FloatTile:$scores, Tile_FloatTile:$max, Tile_FloatTile:$sum,
                       F32Attr:$exponent_scale);
  let results = (outs Tile_FloatTile:$weights, Tile_FloatTile:$new_max, Tile_FloatTile:$new_sum,
                      Tile_FloatTile:$correction);
  let assemblyFormat = "$scores `,` $max `,` $sum `scale` $exponent_scale attr-dict `:` type($scores) `,` type($max)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads a block of consecutive rows; rows at or past the limit read as zero";
  let description = [{
    `indices` address all but the last dimension of the source; the last index is the first row. The
    result is [rows, columns]: row i is source[…, row + i, :]. Rows ≥ `limit` and columns past the
    source's (static) last dimension are zero and are not read.

    Constraints:
    - C1: the source has one more dimension than there are indices, a static last dimension and unit
      inner stride; the result is rank 2 of the same element type, at least as wide as that dimension.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<I32>:$indices, I32:$limit);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `[` $indices `]` `limit` $limit attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a block of consecutive rows below the limit";
  let description = [{ The mirror of `tile.load`; rows ≥ limit and columns past the target's last
    dimension are not written. Constraint C1 is that of `tile.load`. }];
  let arguments = (ins Tile_Tile:$value, AnyMemRef:$target, Variadic<I32>:$indices, I32:$limit);
  let assemblyFormat = "$value `,` $target `[` $indices `]` `limit` $limit attr-dict `:` type($value) `->` type($target)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "Reads rows or elements at computed indices; where the predicate is false, zero";
  let description = [{
    Each index is an i32 or a tile of i32. With as many indices as the source has dimensions, every
    element of the result is read at its own indices; index tiles have the result's shape. With one
    fewer, whole rows are read: index tiles and the predicate have shape [rows] and the result is
    [rows, columns], as in `tile.load`. Paged KV, packed heads and biases are all this op.

    Constraints:
    - C1: the number of indices is the source's rank, or one less with a unit inner stride.
    - C2: index tiles and the predicate have the result's shape (elements) or [rows] (rows).
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Tile_Index>:$indices,
                       Optional<RankedTensorOf<[I1]>>:$where);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $source `[` $indices `:` type($indices) `]` (`where` $where^ `:` type($where))? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "Writes rows or elements at computed indices where the predicate is true";
  let description = [{ The mirror of `tile.gather`, with its constraints. Indices of distinct written
    elements are distinct. }];
  let arguments = (ins Tile_Tile:$value, AnyMemRef:$target, Variadic<Tile_Index>:$indices,
                       Optional<RankedTensorOf<[I1]>>:$where);
  let assemblyFormat = [{
    $value `,` $target `[` $indices `:` type($indices) `]` (`where` $where^ `:` type($where))? attr-dict
    `:` type($value) `->` type($target)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Making tiles
//===----------------------------------------------------------------------===//

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "A tile whose elements are all one scalar";
  let description = [{ Constraint C1: the result has static rank 1 or 2 and the scalar's type. }];
  let arguments = (ins AnyTypeOf<[AnyFloat, AnySignlessInteger]>:$scalar);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "The i32 tile 0, 1, 2, … of rank 1";
  let description = [{ Constraint C1: the result has static rank 1. }];
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats a rank-1 tile along a new dimension `dim` of a rank-2 tile";
  let description = [{
    `dim = 1` repeats a column vector along the columns (result[i, j] = source[i]), `dim = 0` a row
    vector along the rows (result[i, j] = source[j]).

    Constraints:
    - C1: `dim` is 0 or 1; the source has rank 1, the result rank 2 with the source's extent in the
      other dimension and its element type.
  }];
  let arguments = (ins Tile_Tile:$source, I64Attr:$dim);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `dim` $dim attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products and reductions
//===----------------------------------------------------------------------===//

def Tile_MmaOp : Tile_Op<"mma", [AllTypesMatch<["acc", "result"]>,
                                 DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "acc + a·b, or acc + a·bᵀ with transpose_b, accumulated in the type of acc";
  let description = [{
    a is [M, K]; b is [K, N], or [N, K] with `transpose_b`. Either may be a shared buffer; reading it
    is the op's only effect.

    Constraints:
    - C1: shapes agree as above; a and b have one element type, acc is f32.
  }];
  let arguments = (ins Tile_Operand:$a, Tile_Operand:$b, Tile_FloatTile:$acc, UnitAttr:$transpose_b);
  let results = (outs Tile_FloatTile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`transpose_b` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `->` type($acc)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Reduces one dimension of a rank-2 tile by max or sum";
  let description = [{
    `tile.reduce max %s dim 1` gives the maximum of each row. Sums are in an unspecified but fixed
    order; a max ignores NaN when another operand is a number.

    Constraints:
    - C1: `dim` is 0 or 1; the source has rank 2, the result rank 1 with the other dimension's extent
      and the source's element type.
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, Tile_FloatTile:$source, I64Attr:$dim);
  let results = (outs Tile_FloatTile:$result);
  let assemblyFormat = "$kind $source `dim` $dim attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

include "TileMemoryOps.td"
include "TileAsyncOps.td"

#endif
