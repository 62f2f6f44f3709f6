// The layout algebra: see TileLayout.h for the worked example.
#include "attnc/Dialect/Tile/TileLayout.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Attribute form: each mode is flattened to extent, step0, …
//===----------------------------------------------------------------------===//

static SmallVector<Mode> unflatten(ArrayRef<int64_t> flat, int64_t rank) {
  SmallVector<Mode> modes;
  for (size_t i = 0; i < flat.size(); i += rank + 1)
    modes.push_back({flat[i], SmallVector<int64_t, 2>(flat.slice(i + 1, rank))});
  return modes;
}

static SmallVector<int64_t> flatten(ArrayRef<Mode> modes) {
  SmallVector<int64_t> flat;
  for (const Mode &mode : modes) {
    flat.push_back(mode.extent);
    llvm::append_range(flat, mode.step);
  }
  return flat;
}

Layout Layout::get(LayoutAttr attr) {
  int64_t rank = attr.getRank();
  return {rank, unflatten(attr.getReg(), rank), unflatten(attr.getLane(), rank),
          unflatten(attr.getWarp(), rank)};
}

LayoutAttr Layout::toAttr(MLIRContext *context) const {
  return LayoutAttr::get(context, rank, flatten(reg), flatten(lane), flatten(warp));
}

void tile::printModes(raw_ostream &os, ArrayRef<Mode> modes) {
  os << '[';
  llvm::interleaveComma(modes, os, [&](const Mode &mode) {
    os << mode.extent << ":(";
    llvm::interleaveComma(mode.step, os);
    os << ')';
  });
  os << ']';
}

//===----------------------------------------------------------------------===//
// The algebra
//===----------------------------------------------------------------------===//

static int64_t product(ArrayRef<Mode> modes) {
  int64_t total = 1;
  for (const Mode &mode : modes)
    total *= mode.extent;
  return total;
}

int64_t Layout::numRegs() const { return product(reg); }
int64_t Layout::numLanes() const { return product(lane); }
int64_t Layout::numWarps() const { return product(warp); }

static SmallVector<int64_t, 2> coord(ArrayRef<Mode> modes, int64_t index, int64_t rank) {
  SmallVector<int64_t, 2> result(rank, 0);
  for (const Mode &mode : modes) {
    int64_t digit = index % mode.extent;
    index /= mode.extent;
    for (int64_t d = 0; d < rank; ++d)
      result[d] += digit * mode.step[d];
  }
  return result;
}

SmallVector<int64_t, 2> Layout::regCoord(int64_t index) const { return coord(reg, index, rank); }
SmallVector<int64_t, 2> Layout::laneCoord(int64_t index) const { return coord(lane, index, rank); }
SmallVector<int64_t, 2> Layout::warpCoord(int64_t index) const { return coord(warp, index, rank); }

SmallVector<int64_t, 2> Layout::shape() const {
  SmallVector<int64_t, 2> result(rank, 1);
  for (const auto *modes : {&reg, &lane, &warp})
    for (const Mode &mode : *modes)
      for (int64_t d = 0; d < rank; ++d)
        result[d] += (mode.extent - 1) * mode.step[d];
  return result;
}

static SmallVector<Mode> normalizeModes(ArrayRef<Mode> modes) {
  SmallVector<Mode> result;
  for (const Mode &mode : modes) {
    if (mode.extent == 1)
      continue;
    if (!result.empty()) {
      Mode &last = result.back();
      bool continues = true;
      for (auto [next, previous] : llvm::zip(mode.step, last.step))
        continues &= next == previous * last.extent;
      if (continues) {
        last.extent *= mode.extent;
        continue;
      }
    }
    result.push_back(mode);
  }
  return result;
}

Layout Layout::normalized() const {
  return {rank, normalizeModes(reg), normalizeModes(lane), normalizeModes(warp)};
}

Layout Layout::slice(int64_t dim) const {
  assert(rank == 2 && "only a rank-2 layout can be sliced");
  int64_t kept = 1 - dim;
  auto project = [&](ArrayRef<Mode> modes, bool dropReplicas) {
    SmallVector<Mode> result;
    for (const Mode &mode : modes) {
      Mode projected{mode.extent, {mode.step[kept]}};
      if (!dropReplicas || !projected.isReplica())
        result.push_back(projected);
    }
    return result;
  };
  return {1, project(reg, /*dropReplicas=*/true), project(lane, false), project(warp, false)};
}

SmallVector<int64_t> Layout::regsOfSlice(int64_t dim) const {
  int64_t kept = 1 - dim;
  SmallVector<int64_t> result;
  for (int64_t r = 0, e = numRegs(); r < e; ++r) {
    // Walk the digits of r; the kept digits, in order, are the digits of the slice's register.
    int64_t rest = r, index = 0, weight = 1;
    for (const Mode &mode : reg) {
      int64_t digit = rest % mode.extent;
      rest /= mode.extent;
      if (mode.step[kept] != 0) {
        index += digit * weight;
        weight *= mode.extent;
      }
    }
    result.push_back(index);
  }
  return result;
}

bool Layout::sameOwners(const Layout &other) const {
  return rank == other.rank && shape() == other.shape() &&
         normalizeModes(lane) == normalizeModes(other.lane) &&
         normalizeModes(warp) == normalizeModes(other.warp);
}

//===----------------------------------------------------------------------===//
// The layouts of the hardware
//===----------------------------------------------------------------------===//

Layout tile::mmaLayout(int64_t rows, int64_t cols, int64_t warps) {
  int64_t rowsPerWarp = rows / warps;
  assert(rows % warps == 0 && rowsPerWarp % 16 == 0 && cols % 8 == 0);
  return {2,
          {{2, {0, 1}}, {2, {8, 0}}, {cols / 8, {0, 8}}, {rowsPerWarp / 16, {16, 0}}},
          {{4, {0, 2}}, {8, {1, 0}}},
          {{warps, {rowsPerWarp, 0}}}};
}

/// The largest power of two that divides `value` and is at most `limit`.
static int64_t powerOfTwoDivisor(int64_t value, int64_t limit) {
  int64_t result = 1;
  while (result * 2 <= limit && value % (result * 2) == 0)
    result *= 2;
  return result;
}

Layout tile::vectorLayout(int64_t size, int64_t warps) {
  int64_t lanes = powerOfTwoDivisor(size, 32);
  int64_t perLane = size / lanes;
  return {1, {{perLane, {1}}}, {{lanes, {perLane}}, {32 / lanes, {0}}}, {{warps, {0}}}};
}

Layout tile::copyRowLayout(int64_t rows, int64_t chunksPerRow, int64_t warps) {
  int64_t lanesPerRow = powerOfTwoDivisor(chunksPerRow, 32);
  int64_t rowsPerWarp = 32 / lanesPerRow;
  int64_t rowsPerPass = rowsPerWarp * warps;
  int64_t passes = (rows + rowsPerPass - 1) / rowsPerPass;
  return {1,
          {{passes, {rowsPerPass}}},
          {{lanesPerRow, {0}}, {rowsPerWarp, {1}}},
          {{warps, {rowsPerWarp}}}};
}
