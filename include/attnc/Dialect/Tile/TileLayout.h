// The layout algebra behind #tile.layout: who holds which element of a tile.
//
// A worked example, by hand. The f32 accumulator of mma.m16n8k16 on a 16x16 tile, one warp:
//
//   reg = [2:(0,1), 2:(8,0), 2:(0,8)]   lane = [4:(0,2), 8:(1,0)]   warp = []
//
// Lane 5 is 5 = 1 + 4*1: digit 1 of 4:(0,2) and digit 1 of 8:(1,0), so it starts at (1, 2).
// Its registers 0..7 add (0,0) (0,1) (8,0) (8,1) (0,8) (0,9) (8,8) (8,9): register 3 is element
// (9, 3). The slice of this layout along the columns (a row vector) drops the second step:
// reg = [2:0, 2:8, 2:0], of which only the digits that move are kept: reg = [2:8], and four lanes
// hold the same value. That is why a row maximum needs two shuffles over the lane mode 4:(0,2).
//
// Why modes with steps, and not the bit matrices (linear layouts) of other compilers: head dims of
// 96, 80 or 192 are not powers of two, and a step list reads like the PTX tables it encodes.
// Why coordinate = sum of digits and not the reverse: lowering asks "which element is register r of
// this thread" for every r; the reverse question is asked only by conversions, which compare lists.
#ifndef ATTNC_DIALECT_TILE_TILELAYOUT_H
#define ATTNC_DIALECT_TILE_TILELAYOUT_H

#include "attnc/Dialect/Tile/TileDialect.h"

namespace mlir::tile {

/// One digit of a counter: `extent` values, each moving the coordinate by `step`.
struct Mode {
  int64_t extent;
  SmallVector<int64_t, 2> step;
  bool operator==(const Mode &other) const { return extent == other.extent && step == other.step; }
  /// Whether no step moves the coordinate: all digits hold the same element.
  bool isReplica() const { return llvm::all_of(step, [](int64_t s) { return s == 0; }); }
};

/// A layout as three lists of modes; the value form of LayoutAttr.
struct Layout {
  int64_t rank = 0;
  SmallVector<Mode> reg, lane, warp;

  bool operator==(const Layout &other) const {
    return rank == other.rank && reg == other.reg && lane == other.lane && warp == other.warp;
  }

  static Layout get(LayoutAttr attr);
  LayoutAttr toAttr(MLIRContext *context) const;

  /// Registers a thread holds; lanes and warps covered.
  int64_t numRegs() const;
  int64_t numLanes() const;
  int64_t numWarps() const;

  /// Coordinate contributed by register `index` (rank entries).
  SmallVector<int64_t, 2> regCoord(int64_t index) const;
  SmallVector<int64_t, 2> laneCoord(int64_t index) const;
  SmallVector<int64_t, 2> warpCoord(int64_t index) const;

  /// The tile's shape: per dimension 1 + Σ (extent − 1)·step.
  SmallVector<int64_t, 2> shape() const;

  /// Adjacent modes that continue each other merged, extent-1 modes dropped: layouts that enumerate
  /// elements alike become equal.
  Layout normalized() const;

  /// The layout of a rank-1 tile that holds dimension 1 − `dim` of this rank-2 layout. Registers that
  /// no longer move are dropped; lanes and warps that no longer move become replicas.
  Layout slice(int64_t dim) const;

  /// For each register of this layout, the register of `slice(dim)` that holds its coordinate.
  SmallVector<int64_t> regsOfSlice(int64_t dim) const;

  /// Whether each lane and warp owns the same elements in both, so that conversion only renames
  /// registers.
  bool sameOwners(const Layout &other) const;
};

/// Accumulator of mma.m16n8k16 on [rows, cols]; `warps` warps stacked along the rows, each with
/// rows / warps rows (a multiple of 16). Also the layout of 16-bit A operands.
Layout mmaLayout(int64_t rows, int64_t cols, int64_t warps);

/// A rank-1 tile spread over the lanes of one warp (replicated over the others): as many lanes as
/// the largest power of two ≤ 32 that divides `size`, consecutive elements in one thread.
Layout vectorLayout(int64_t size, int64_t warps);

/// Rows of a [rows, cols] tile as the asynchronous copy walks them in 16-byte chunks of
/// `chunksPerRow` a row: as many lanes side by side in a row as the largest power of two ≤ 32 that
/// divides it. Rank 1: the row that a thread's copies touch.
Layout copyRowLayout(int64_t rows, int64_t chunksPerRow, int64_t warps);

/// Prints and parses `reg = […], lane = […], warp = […]` mode lists.
void printModes(raw_ostream &os, ArrayRef<Mode> modes);

} // namespace mlir::tile

#endif // ATTNC_DIALECT_TILE_TILELAYOUT_H
