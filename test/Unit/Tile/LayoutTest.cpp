// The layout algebra: the worked example of TileLayout.h, coverage, slices and conversions.
#include "attnc/Dialect/Tile/TileLayout.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace mlir::tile;

namespace {

using Coord = SmallVector<int64_t, 2>;

Coord coordOf(const Layout &layout, int64_t warp, int64_t lane, int64_t reg) {
  Coord sum(layout.rank, 0);
  for (const Coord &part : {layout.warpCoord(warp), layout.laneCoord(lane), layout.regCoord(reg)})
    for (int64_t d = 0; d < layout.rank; ++d)
      sum[d] += part[d];
  return sum;
}

/// How often each element of the layout's shape is held.
std::map<Coord, int64_t> holders(const Layout &layout) {
  std::map<Coord, int64_t> count;
  for (int64_t w = 0; w < layout.numWarps(); ++w)
    for (int64_t l = 0; l < layout.numLanes(); ++l)
      for (int64_t r = 0; r < layout.numRegs(); ++r)
        ++count[coordOf(layout, w, l, r)];
  return count;
}

int64_t elements(const Layout &layout) {
  int64_t total = 1;
  for (int64_t extent : layout.shape())
    total *= extent;
  return total;
}

TEST(TileLayout, WorkedExample) {
  Layout layout = mmaLayout(16, 16, 1);
  EXPECT_EQ(layout.laneCoord(5), (Coord{1, 2}));
  EXPECT_EQ(coordOf(layout, 0, 5, 3), (Coord{9, 3}));
  Layout row = layout.slice(1);
  EXPECT_EQ(row.numRegs(), 2);
  EXPECT_EQ(row.regCoord(1)[0], 8);
}

TEST(TileLayout, MmaHoldsEveryElementOnce) {
  for (int64_t warps : {1, 2, 4, 8})
    for (int64_t rowsPerWarp : {16, 32})
      for (int64_t cols : {16, 64, 80, 96, 192, 256}) {
        Layout layout = mmaLayout(warps * rowsPerWarp, cols, warps);
        EXPECT_EQ(layout.shape(), (Coord{warps * rowsPerWarp, cols}));
        auto count = holders(layout);
        EXPECT_EQ(static_cast<int64_t>(count.size()), elements(layout));
        for (auto &[coord, n] : count)
          EXPECT_EQ(n, 1);
      }
}

TEST(TileLayout, SlicesReplicateEvenly) {
  Layout layout = mmaLayout(64, 96, 4);
  auto rows = holders(layout.slice(1));
  EXPECT_EQ(rows.size(), 64u);
  for (auto &[coord, n] : rows)
    EXPECT_EQ(n, 4);
  auto cols = holders(layout.slice(0));
  EXPECT_EQ(cols.size(), 96u);
  for (auto &[coord, n] : cols)
    EXPECT_EQ(n, 8 * 4);
}

TEST(TileLayout, RegsOfSliceAgreeWithCoordinates) {
  Layout layout = mmaLayout(64, 48, 2);
  for (int64_t dim : {0, 1}) {
    Layout slice = layout.slice(dim);
    SmallVector<int64_t> regs = layout.regsOfSlice(dim);
    for (int64_t r = 0; r < layout.numRegs(); ++r)
      EXPECT_EQ(slice.regCoord(regs[r])[0], layout.regCoord(r)[1 - dim]);
  }
}

TEST(TileLayout, VectorLayoutsCoverOddSizes) {
  for (int64_t size : {16, 40, 64, 80, 96, 128, 192, 256})
    for (int64_t warps : {1, 4}) {
      Layout layout = vectorLayout(size, warps);
      EXPECT_EQ(layout.numLanes(), 32);
      auto count = holders(layout);
      EXPECT_EQ(static_cast<int64_t>(count.size()), size);
    }
}

TEST(TileLayout, CopyRowsReachEveryRow) {
  for (int64_t chunks : {2, 6, 8, 10, 12, 16, 24, 32})
    for (int64_t rows : {16, 32, 64})
      for (int64_t warps : {1, 4, 8}) {
        auto count = holders(copyRowLayout(rows, chunks, warps));
        for (int64_t row = 0; row < rows; ++row)
          EXPECT_GE(count[Coord{row}], 1) << "row " << row;
      }
}

TEST(TileLayout, NormalFormMergesContinuingModes) {
  Layout split = mmaLayout(16, 32, 1);
  Layout merged = split;
  merged.reg = {{2, {0, 1}}, {2, {8, 0}}, {2, {0, 8}}, {2, {0, 16}}};
  EXPECT_FALSE(split == merged);
  EXPECT_TRUE(split.normalized() == merged.normalized());
  EXPECT_TRUE(split.sameOwners(merged));
  EXPECT_FALSE(split.sameOwners(mmaLayout(32, 32, 2)));
}

TEST(TileLayout, AttributeRoundTrip) {
  MLIRContext context;
  context.loadDialect<TileDialect>();
  Layout layout = mmaLayout(64, 64, 4);
  EXPECT_TRUE(Layout::get(layout.toAttr(&context)) == layout);
}

} // namespace
