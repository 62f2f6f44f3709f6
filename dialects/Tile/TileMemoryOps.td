// Ops of the tile dialect that name layouts, shared memory and asynchronous copies. They appear
// after the GPU schedule has been chosen; the host lowering never sees them.
#ifndef ATTNC_DIALECTS_TILE_TILEMEMORYOPS_TD
#define ATTNC_DIALECTS_TILE_TILEMEMORYOPS_TD

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "The same tile, held by other threads or in other registers";
  let description = [{ Constraint C1: source and result agree in shape and element type. }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_AllocSharedOp : Tile_Op<"alloc_shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A shared-memory buffer that lives for the whole kernel";
  let results = (outs Tile_SharedType:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def Tile_StageOp : Tile_Op<"stage", [Pure]> {
  let summary = "One stage of a staged shared buffer";
  let description = [{ Constraint C1: the buffer has 3 dimensions; the result is it without the first,
    with the same element type and pitch. }];
  let arguments = (ins Tile_SharedType:$buffer, I32:$stage);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$buffer `[` $stage `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_CopyAsyncOp : Tile_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts copying a block of rows to shared memory; rows past the limit become zero";
  let description = [{ `tile.load` into a shared buffer. The copy belongs to the commit group that the
    next `tile.async_commit` closes and may be read after an `tile.async_wait` that covers it and a
    `tile.barrier`. Constraint C1 is that of `tile.load`, of a target of rank 2. }];
  let arguments = (ins AnyMemRef:$source, Variadic<I32>:$indices, I32:$limit, Tile_SharedType:$target);
  let assemblyFormat = "$source `[` $indices `]` `limit` $limit `into` $target attr-dict `:` type($source) `->` type($target)";
  let hasVerifier = 1;
}

def Tile_GatherAsyncOp : Tile_Op<"gather_async", [AttrSizedOperandSegments,
                                                  MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts copying rows at computed indices to shared memory";
  let description = [{ `tile.gather` of rows into a shared buffer; synchronised as `tile.copy_async`.
    Constraints C1 and C2 are those of `tile.gather` of rows, with a target of rank 2. }];
  let arguments = (ins AnyMemRef:$source, Variadic<Tile_Index>:$indices,
                       Optional<RankedTensorOf<[I1]>>:$where, Tile_SharedType:$target);
  let assemblyFormat = [{
    $source `[` $indices `:` type($indices) `]` (`where` $where^ `:` type($where))? `into` $target attr-dict
    `:` type($source) `->` type($target)
  }];
  let hasVerifier = 1;
}

def Tile_AsyncCommitOp : Tile_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Closes a group of asynchronous copies of this thread";
  let assemblyFormat = "attr-dict";
}

def Tile_AsyncWaitOp : Tile_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most `pending` commit groups of this thread are in flight";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All warps of the CTA arrive before any continues; orders shared memory";
  let assemblyFormat = "attr-dict";
}

def Tile_SharedReadOp : Tile_Op<"shared_read", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads a whole stage of a shared buffer as a tile";
  let description = [{ Constraint C1: the buffer has rank 2 and the tile's shape and element type. }];
  let arguments = (ins Tile_SharedType:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SharedWriteOp : Tile_Op<"shared_write", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a tile to a stage of a shared buffer";
  let description = [{ Constraint C1 is that of `tile.shared_read`. }];
  let arguments = (ins Tile_Tile:$value, Tile_SharedType:$target);
  let assemblyFormat = "$value `,` $target attr-dict `:` type($value) `->` type($target)";
  let hasVerifier = 1;
}

#endif
