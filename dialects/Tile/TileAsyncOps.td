// Ops of the tile dialect for warp-specialised schedules (sm_90 and up): roles, mbarriers, bulk tensor
// copies, and products in flight.
#ifndef ATTNC_DIALECTS_TILE_TILEASYNCOPS_TD
#define ATTNC_DIALECTS_TILE_TILEASYNCOPS_TD

def Tile_WarpRolesOp : Tile_Op<"warp_roles", [NoTerminator, RecursiveMemoryEffects]> {
  let summary = "Warp groups of a CTA run different regions";
  let description = [{
    Region i is run by `warps[i]` consecutive warps with a budget of `registers[i]` registers a
    thread (0: the kernel's). The regions meet only through shared memory and barriers.

    Constraints:
    - C1: as many regions as entries of `warps` and of `registers`; each warps entry is positive.
  }];
  let arguments = (ins DenseI32ArrayAttr:$warps, DenseI32ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$roles);
  let assemblyFormat = "`warps` $warps `registers` $registers attr-dict-with-keyword $roles";
  let hasVerifier = 1;
}

def Tile_ElectOp : Tile_Op<"elect", [Pure]> {
  let summary = "True in exactly one thread of the warp role (or CTA) that executes it";
  let description = [{ Always the same thread. What it guards must not need its neighbours. }];
  let results = (outs I1:$elected);
  let assemblyFormat = "attr-dict `:` type($elected)";
}

def Tile_MbarrierAllocOp : Tile_Op<"mbarrier_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Allocates and initialises mbarriers that complete after `arrivals` arrivals each";
  let arguments = (ins I32Attr:$arrivals);
  let results = (outs Tile_BarrierType:$barriers);
  let assemblyFormat = "`arrivals` $arrivals attr-dict `:` type($barriers)";
}

def Tile_MbarrierArriveOp : Tile_Op<"mbarrier_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives at a stage's barrier; with `bytes`, also announces that many copied bytes";
  let description = [{ One arrival for each warp that executes it, made by one lane. }];
  let arguments = (ins Tile_BarrierType:$barriers, I32:$stage, OptionalAttr<I32Attr>:$bytes);
  let assemblyFormat = "$barriers `[` $stage `]` (`bytes` $bytes^)? attr-dict `:` type($barriers)";
}

def Tile_MbarrierWaitOp : Tile_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the phase of the given parity of a stage's barrier has completed";
  let arguments = (ins Tile_BarrierType:$barriers, I32:$stage, I32:$parity);
  let assemblyFormat = "$barriers `[` $stage `]` `parity` $parity attr-dict `:` type($barriers)";
}

def Tile_MmaAsyncOp : Tile_Op<"mma_async", [AllTypesMatch<["acc", "result"]>,
                                            MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Issues acc + a·b; the result may be read only through `tile.mma_wait`";
  let description = [{ The in-flight accumulator is an SSA value so that nothing can be ordered before
    its wait. Constraint C1 is that of `tile.mma`. }];
  let arguments = (ins Tile_Operand:$a, Tile_Operand:$b, Tile_FloatTile:$acc, UnitAttr:$transpose_b);
  let results = (outs Tile_FloatTile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`transpose_b` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `->` type($acc)
  }];
  let hasVerifier = 1;
}

def Tile_MmaWaitOp : Tile_Op<"mma_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most `pending` product groups are in flight and releases accumulators";
  let description = [{ Constraint C1: results have the types of the operands. }];
  let arguments = (ins I32Attr:$pending, Variadic<Tile_FloatTile>:$inflight);
  let results = (outs Variadic<Tile_FloatTile>:$results);
  let assemblyFormat = "$pending $inflight attr-dict `:` type($inflight) `->` type($results)";
  let hasVerifier = 1;
}

def Tile_TmaLoadOp : Tile_Op<"tma_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts a bulk copy of a block of rows; its bytes are counted at a barrier's stage";
  let description = [{
    `indices` (batch, head, first row) place the block in the tensor that the map describes; rows and
    columns outside the tensor arrive as zero. The target's rows are in 128-byte panels of the swizzled
    form. Executed by one thread. The barrier's phase completes once all announced bytes have arrived.

    Constraints:
    - C1: the target is swizzled; its rows and element type are the map's; three indices.
  }];
  let arguments = (ins Tile_TensorMapType:$map, Variadic<I32>:$indices, Tile_SharedType:$target,
                       Tile_BarrierType:$barriers, I32:$stage);
  let assemblyFormat = [{
    $map `[` $indices `]` `into` $target `signal` $barriers `[` $stage `]` attr-dict
    `:` type($map) `->` type($target) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

#endif
