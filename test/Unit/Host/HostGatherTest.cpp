// Gathers, scatters, predicates and workspaces of the host target.
#include "HostTesting.h"

using namespace attnc;
using namespace attnc::testing;

/// Paged rows: y[r] = pool[table[r / 4], r % 4] for r < n, zero past n; pages not named hold NaN.
TEST(HostGather, PagedRows) {
  auto program = compileText(R"mlir(
!p = memref<?x4x40xbf16, strided<[?, ?, 1]>>
!t = memref<?xi32, strided<[?]>>
!y = memref<?x40xf32, strided<[?, 1]>>
tile.kernel @paged(%pool: !p {tile.name = "k"}, %table: !t {tile.name = "block_table"},
                   %y: !y {tile.name = "o"}, %n: i32 {tile.name = "max_len_kv"})
    attributes {warps = 1 : i32, role = "main", grid = ["ceildiv", "max_len_kv", 16]} {
  %c16 = arith.constant 16 : i32
  %pid = tile.program_id : i32
  %r0 = arith.muli %pid, %c16 : i32
  %i = tile.iota : tensor<16xi32>
  %r0t = tile.splat %r0 : i32 -> tensor<16xi32>
  %rows = arith.addi %i, %r0t : tensor<16xi32>
  %nt = tile.splat %n : i32 -> tensor<16xi32>
  %ok = arith.cmpi slt, %rows, %nt : tensor<16xi32>
  %page = arith.constant dense<4> : tensor<16xi32>
  %slot = arith.divsi %rows, %page : tensor<16xi32>
  %in = arith.remsi %rows, %page : tensor<16xi32>
  %pages = tile.gather %table[%slot : tensor<16xi32>] where %ok : tensor<16xi1> : !t -> tensor<16xi32>
  %t = tile.gather %pool[%pages, %in : tensor<16xi32>, tensor<16xi32>] where %ok : tensor<16xi1>
      : !p -> tensor<16x48xbf16>
  %f = arith.extf %t : tensor<16x48xbf16> to tensor<16x48xf32>
  %two = arith.constant dense<2.0> : tensor<16x48xf32>
  %g = arith.mulf %f, %two : tensor<16x48xf32>
  tile.store %g, %y[%r0] limit %n : tensor<16x48xf32> -> !y
  tile.return
}
)mlir");
  ASSERT_TRUE(program);
  for (int64_t n : {1, 15, 16, 17, 30}) {
    std::map<std::string, HostTensor> tensors{
        {"k", HostTensor::empty(DType::BF16, {20, 4, 40})},
        {"block_table", HostTensor::empty(DType::I32, {(n + 3) / 4})},
        {"o", HostTensor::empty(DType::F32, {n, 40})}};
    fillNaN(tensors["k"]);
    fillNaN(tensors["o"]);
    addGuard(tensors["o"]);
    for (int64_t i = 0; i < n; ++i) {
      int64_t page = (i / 4 * 7 + 3) % 20;
      tensors["block_table"].set({i / 4}, double(page));
      for (int64_t d = 0; d < 40; ++d)
        tensors["k"].set({page, i % 4, d}, double(i + d));
    }
    ASSERT_EQ(program->run({{"max_len_kv", n}}, tensors, {}, 2), "");
    for (int64_t i = 0; i < n; ++i)
      for (int64_t d = 0; d < 40; ++d)
        ASSERT_EQ(tensors["o"].get({i, d}), 2.0 * (i + d)) << i << ' ' << d;
    EXPECT_TRUE(guardHolds(tensors["o"]));
  }
}

/// A bias that is broadcast over its rows (stride 0), read by elements where the predicate is true
/// and written back by elements.
static void checkElements(const std::string &type, DType dtype) {
  std::string widen = dtype == DType::F32
                          ? "%z = arith.constant dense<0.0> : tensor<8x24xf32>\n"
                            "%f = arith.addf %v, %z : tensor<8x24xf32>"
                          : "%f = arith.extf %v : tensor<8x24x" + type + "> to tensor<8x24xf32>";
  auto program = compileText(substitute(R"mlir(
!b = memref<?x?x$T, strided<[?, ?]>>
!y = memref<?x?xf32, strided<[?, ?]>>
tile.kernel @bias(%x: !b {tile.name = "bias"}, %y: !y {tile.name = "o"},
                  %m: i32 {tile.name = "max_len_q"}, %n: i32 {tile.name = "max_len_kv"})
    attributes {warps = 1 : i32, role = "main", grid = 1 : i64} {
  %i = tile.iota : tensor<8xi32>
  %j = tile.iota : tensor<24xi32>
  %rows = tile.broadcast %i dim 1 : tensor<8xi32> -> tensor<8x24xi32>
  %cols = tile.broadcast %j dim 0 : tensor<24xi32> -> tensor<8x24xi32>
  %mt = tile.splat %m : i32 -> tensor<8x24xi32>
  %nt = tile.splat %n : i32 -> tensor<8x24xi32>
  %okm = arith.cmpi slt, %rows, %mt : tensor<8x24xi32>
  %okn = arith.cmpi slt, %cols, %nt : tensor<8x24xi32>
  %ok = arith.andi %okm, %okn : tensor<8x24xi1>
  %v = tile.gather %x[%rows, %cols : tensor<8x24xi32>, tensor<8x24xi32>] where %ok : tensor<8x24xi1>
      : !b -> tensor<8x24x$T>
  $WIDEN
  %one = arith.constant dense<1.0> : tensor<8x24xf32>
  %w = arith.addf %f, %one : tensor<8x24xf32>
  tile.scatter %w, %y[%rows, %cols : tensor<8x24xi32>, tensor<8x24xi32>] where %ok : tensor<8x24xi1>
      : tensor<8x24xf32> -> !y
  tile.return
}
)mlir",
                                        {{"T", type}, {"WIDEN", widen}}));
  ASSERT_TRUE(program);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{8, 24}, {3, 17}, {1, 1}}) {
    HostTensor bias = HostTensor::empty(dtype, {n});
    fillRandom(bias, 5);
    HostTensor expected = bias;
    bias.shape = {m, n};
    bias.strides = {0, 1};
    std::map<std::string, HostTensor> tensors{{"bias", bias},
                                              {"o", HostTensor::empty(DType::F32, {m, n})}};
    fillNaN(tensors["o"]);
    addGuard(tensors["o"]);
    ASSERT_EQ(program->run({{"max_len_q", m}, {"max_len_kv", n}}, tensors, {}, 1), "");
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(tensors["o"].get({i, j}), float(float(expected.get({j})) + 1.0f));
    EXPECT_TRUE(guardHolds(tensors["o"]));
  }
}

TEST(HostGather, ElementsF32) { checkElements("f32", DType::F32); }
TEST(HostGather, ElementsBF16) { checkElements("bf16", DType::BF16); }

/// Rows packed from the heads of a group (row r = head r % 3, query r / 3), scaled by a run-time
/// argument and scattered back.
TEST(HostGather, PackedHeadsScatterBack) {
  auto program = compileText(R"mlir(
!q = memref<?x?x24xf16, strided<[?, ?, 1]>>
tile.kernel @packed(%q: !q {tile.name = "q"}, %o: !q {tile.name = "o"},
                    %len_q: i32 {tile.name = "max_len_q"}, %scale: f32 {tile.name = "arg.gain"},
                    %shift: i32 {tile.name = "arg.shift"})
    attributes {warps = 1 : i32, role = "main", grid = 1 : i64} {
  %r = tile.iota : tensor<16xi32>
  %three = arith.constant dense<3> : tensor<16xi32>
  %h = arith.remsi %r, %three : tensor<16xi32>
  %i = arith.divsi %r, %three : tensor<16xi32>
  %lim = tile.splat %len_q : i32 -> tensor<16xi32>
  %ok = arith.cmpi slt, %i, %lim : tensor<16xi32>
  %t = tile.gather %q[%h, %i : tensor<16xi32>, tensor<16xi32>] where %ok : tensor<16xi1>
      : !q -> tensor<16x32xf16>
  %f = arith.extf %t : tensor<16x32xf16> to tensor<16x32xf32>
  %s = tile.splat %scale : f32 -> tensor<16x32xf32>
  %g = arith.mulf %f, %s : tensor<16x32xf32>
  %fi = arith.sitofp %shift : i32 to f32
  %st = tile.splat %fi : f32 -> tensor<16x32xf32>
  %w = arith.addf %g, %st : tensor<16x32xf32>
  %b = arith.truncf %w : tensor<16x32xf32> to tensor<16x32xf16>
  tile.scatter %b, %o[%h, %i : tensor<16xi32>, tensor<16xi32>] where %ok : tensor<16xi1>
      : tensor<16x32xf16> -> !q
  tile.return
}
)mlir");
  ASSERT_TRUE(program);
  for (int64_t lenQ : {1, 4, 5}) {
    std::map<std::string, HostTensor> tensors{{"q", HostTensor::empty(DType::F16, {3, lenQ, 24})},
                                              {"o", HostTensor::empty(DType::F16, {3, lenQ, 24})}};
    forEachIndex({3, lenQ, 24}, [&](const std::vector<int64_t> &at) {
      tensors["q"].set(at, double(at[0] * 100 + at[1] * 10) + double(at[2]));
    });
    fillNaN(tensors["o"]);
    addGuard(tensors["o"]);
    ProblemSizes sizes{{"max_len_q", lenQ}};
    EXPECT_EQ(program->run(sizes, tensors, {{"arg.shift", 2.0}}, 1),
              "kernel 'packed': scalar 'arg.gain' (f32) is not given");
    ASSERT_EQ(program->run(sizes, tensors, {{"arg.gain", 0.5}, {"arg.shift", 2.0}}, 1), "");
    forEachIndex({3, lenQ, 24}, [&](const std::vector<int64_t> &at) {
      ASSERT_EQ(tensors["o"].get(at), tensors["q"].get(at) * 0.5 + 2.0);
    });
    EXPECT_TRUE(guardHolds(tensors["o"]));
  }
}

/// Two kernels that meet in a workspace, which is poisoned before the first: sums of 16 numbers by
/// split, then their sum. The second kernel must see all of the first.
TEST(HostProgram, KernelsMeetInAWorkspace) {
  auto program = compileText(R"mlir(
!x = memref<?x16xf32, strided<[?, 1]>>
!p = memref<?xf32, strided<[?]>>
module attributes {tile.workspace = [{name = "part", dtype = "f32",
                                      shape = [["mul", "splits", ["max", "batch", 1]]]}]} {
  tile.kernel @main(%x: !x {tile.name = "k"}, %part: !p {tile.name = "part"},
                    %splits: i32 {tile.name = "splits"})
      attributes {warps = 1 : i32, role = "main", grid = "splits"} {
    %pid = tile.program_id : i32
    %t = tile.load %x[%pid] limit %splits : !x -> tensor<1x16xf32>
    %s = tile.reduce <sum> %t dim 1 : tensor<1x16xf32> -> tensor<1xf32>
    tile.scatter %s, %part[%pid : i32] : tensor<1xf32> -> !p
    tile.return
  }
  tile.kernel @combine(%part: !p {tile.name = "part"}, %o: !p {tile.name = "o"},
                       %splits: i32 {tile.name = "splits"})
      attributes {warps = 1 : i32, role = "combine", grid = 1 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %s = %c0 to %splits step %c1 iter_args(%acc = %zero) -> f32 : i32 {
      %i = arith.index_cast %s : i32 to index
      %v = memref.load %part[%i] : !p
      %n = arith.addf %acc, %v : f32
      scf.yield %n : f32
    }
    %t = tile.splat %sum : f32 -> tensor<1xf32>
    tile.scatter %t, %o[%c0 : i32] : tensor<1xf32> -> !p
    tile.return
  }
}
)mlir");
  ASSERT_TRUE(program);
  std::map<std::string, HostTensor> tensors{{"k", HostTensor::empty(DType::F32, {37, 16})},
                                            {"o", HostTensor::empty(DType::F32, {1})}};
  forEachIndex({37, 16}, [&](const std::vector<int64_t> &at) {
    tensors["k"].set(at, double(at[0] * 16 + at[1]));
  });
  ASSERT_EQ(program->run({{"splits", 37}, {"batch", 1}}, tensors, {}, 4), "");
  EXPECT_EQ(tensors["o"].get({0}), 37 * 16 * (37 * 16 - 1) / 2);
  EXPECT_EQ(program->run({{"splits", -1}, {"batch", 1}}, tensors, {}, 4),
            "workspace 'part' has an extent of -1, with which its size is no 64-bit number of bytes");
}

/// Column reductions, tiles carried through scf.if, predicates carried through loops.
TEST(HostProgram, ControlFlowOnTiles) {
  auto program = compileText(R"mlir(
!x = memref<?x20xf32, strided<[?, 1]>>
tile.kernel @flow(%x: !x {tile.name = "x"}, %y: !x {tile.name = "y"}, %n: i32 {tile.name = "batch"})
    attributes {warps = 1 : i32, role = "main", grid = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %t = tile.load %x[%c0] limit %c8 : !x -> tensor<8x20xf32>
  %odd = arith.andi %n, %c1 : i32
  %isodd = arith.cmpi eq, %odd, %c1 : i32
  %none = arith.constant dense<false> : tensor<8x20xi1>
  %c = arith.constant dense<3.0> : tensor<8x20xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %t, %seen = %none)
      -> (tensor<8x20xf32>, tensor<8x20xi1>) : i32 {
    %next = scf.if %isodd -> tensor<8x20xf32> {
      %a = arith.addf %acc, %c : tensor<8x20xf32>
      scf.yield %a : tensor<8x20xf32>
    } else {
      scf.yield %acc : tensor<8x20xf32>
    }
    %big = arith.cmpf ogt, %next, %c : tensor<8x20xf32>
    %now = arith.ori %seen, %big : tensor<8x20xi1>
    scf.yield %next, %now : tensor<8x20xf32>, tensor<8x20xi1>
  }
  %cols = tile.reduce <max> %r#0 dim 0 : tensor<8x20xf32> -> tensor<20xf32>
  %colsb = tile.broadcast %cols dim 0 : tensor<20xf32> -> tensor<8x20xf32>
  %out = arith.select %r#1, %colsb, %c : tensor<8x20xi1>, tensor<8x20xf32>
  tile.store %out, %y[%c0] limit %c8 : tensor<8x20xf32> -> !x
  tile.return
}
)mlir");
  ASSERT_TRUE(program);
  for (int64_t n : {0, 1, 2, 3}) {
    std::map<std::string, HostTensor> tensors{{"x", HostTensor::empty(DType::F32, {8, 20})},
                                              {"y", HostTensor::empty(DType::F32, {8, 20})}};
    fillRandom(tensors["x"], 9, 4.0);
    fillNaN(tensors["y"]);
    ASSERT_EQ(program->run({{"batch", n}}, tensors, {}, 1), "");
    float add = n % 2 ? 3.0f : 0.0f;
    for (int64_t j = 0; j < 20; ++j) {
      float max = -INFINITY;
      std::vector<bool> seen(8, false);
      for (int64_t i = 0; i < 8; ++i) {
        float value = float(tensors["x"].get({i, j}));
        for (int64_t k = 0; k < n; ++k) {
          value += add;
          seen[i] = seen[i] || value > 3.0f;
        }
        max = std::max(max, value);
      }
      for (int64_t i = 0; i < 8; ++i)
        ASSERT_EQ(tensors["y"].get({i, j}), seen[i] ? max : 3.0f) << n << ' ' << i << ' ' << j;
    }
  }
}

/// What was loaded is intact after an elementwise op that could have been done in place.
TEST(HostProgram, LoadedTilesAreNotOverwritten) {
  auto program = compileText(R"mlir(
!x = memref<?x20xf32, strided<[?, 1]>>
tile.kernel @keep(%x: !x {tile.name = "x"}, %y: !x {tile.name = "y"}, %z: !x {tile.name = "z"})
    attributes {warps = 1 : i32, role = "main", grid = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %t = tile.load %x[%c0] limit %c8 : !x -> tensor<8x20xf32>
  %n = arith.negf %t : tensor<8x20xf32>
  tile.store %n, %z[%c0] limit %c8 : tensor<8x20xf32> -> !x
  tile.store %t, %y[%c0] limit %c8 : tensor<8x20xf32> -> !x
  tile.return
}
)mlir");
  ASSERT_TRUE(program);
  std::map<std::string, HostTensor> tensors;
  for (std::string name : {"x", "y", "z"})
    tensors[name] = HostTensor::empty(DType::F32, {8, 20});
  fillRandom(tensors["x"], 4);
  ASSERT_EQ(program->run({}, tensors, {}, 1), "");
  forEachIndex({8, 20}, [&](const std::vector<int64_t> &at) {
    ASSERT_EQ(tensors["y"].get(at), tensors["x"].get(at));
    ASSERT_EQ(tensors["z"].get(at), -tensors["x"].get(at));
  });
}
