// Types, attributes and enums of the tile dialect.
#ifndef ATTNC_DIALECTS_TILE_TILETYPES_TD
#define ATTNC_DIALECTS_TILE_TILETYPES_TD

include "TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Which thread holds which elements of a tile, as strided modes";
  let description = [{
    A tile's elements are enumerated by three counters: the register a thread holds it in, the lane,
    and the warp. Each counter is a mixed-radix number whose digits are *modes*; a mode
    `extent:(s0, s1)` moves the element's coordinate by (s0, s1) for each step of its digit. The
    coordinate of an element is the sum over all digits. The first mode of a list is the fastest.

    The f32 accumulator of `mma.m16n8k16` over a 64×32 tile and four warps, by hand: a thread holds
    two neighbours in a row, the same two eight rows below, and this for each of four column groups;
    four lanes cover eight columns, eight lanes eight rows; each warp owns sixteen rows:

    ```
    #tile.layout<reg = [2:(0, 1), 2:(8, 0), 4:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = [4:(16, 0)]>
    ```

    A zero step says that all digits hold the same element (a replicated row vector). See
    `docs/Rationale/LayoutAlgebra.md` for the operations: slice, normal form, conversion.
  }];
  let parameters = (ins "int64_t":$rank, ArrayRefParameter<"int64_t">:$reg,
                        ArrayRefParameter<"int64_t">:$lane, ArrayRefParameter<"int64_t">:$warp);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "combining operation of a reduction", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Sum", 1, "sum">]> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
def Tile_ReduceKindAttr : EnumAttr<Tile_Dialect, Tile_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_SharedType : TypeDef<Tile_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "A buffer in shared memory: [stages ×] rows × columns, rows `pitch` elements apart";
  let description = [{
    `!tile.shared<2x64x128xbf16, pitch = 136>` holds two stages of 64 rows of 128 elements. A pitch of
    an odd number of 16-byte chunks lets `ldmatrix` read eight rows without a bank conflict.

    With `swizzle = 128` (and the pitch equal to the columns) a stage is the form that bulk tensor
    copies write and wgmma reads: panels of 128 bytes by all rows, one after the other, in which the
    16-byte chunk c of row r lies at c xor (r mod 8). Stages are 1024-byte aligned.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "int64_t":$pitch, DefaultValuedParameter<"int64_t", "0">:$swizzle);
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                     "int64_t":$pitch), [{
      return $_get($_ctxt, shape, elementType, pitch, 0);
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// Elements (with padding) of one stage.
    int64_t getStageElements() const { return getShape()[getRank() - 2] * getPitch(); }
    /// Bytes of the whole buffer.
    int64_t getSizeInBytes() const;
  }];
}

def Tile_BarrierType : TypeDef<Tile_Dialect, "Barriers"> {
  let mnemonic = "barriers";
  let summary = "An array of mbarriers in shared memory, one a stage";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}

def Tile_TensorMapType : TypeDef<Tile_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "A tensor map: a kernel argument that describes a global tensor to the copy engine";
  let description = [{
    `!tile.tensor_map<1x1x128x64xbf16>` copies boxes of 128 rows by 64 columns of a [batch, head, seq,
    dim] tensor into 128-byte swizzled shared memory. The runtime encodes it from the tensor bound to
    the argument's `tile.name`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

def Tile_Tile : RankedTensorOf<[AnyFloat, AnySignlessInteger]>;
def Tile_FloatTile : RankedTensorOf<[AnyFloat]>;
def Tile_Index : AnyTypeOf<[I32, RankedTensorOf<[I32]>], "i32 or a tile of i32">;
def Tile_Operand : AnyTypeOf<[Tile_FloatTile, Tile_SharedType], "a tile or a shared buffer">;

#endif
