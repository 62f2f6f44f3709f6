// The reference against closed forms: cases of what has gone wrong in attention kernels, by id.
#include "AttentionCase.h"

#include <cmath>
#include <random>

using namespace attnc;

constexpr double kInf = std::numeric_limits<double>::infinity();
static const char *kCausal = "masks = [#attn.causal<bottom_right>]";

/// o[b, h, row, :] is one value in both the exact and the plain result.
static void expectRow(const ReferenceResult &result, int64_t b, int64_t h, int64_t row,
                      double value, double plainTolerance = 2e-3) {
  for (int64_t d = 0; d < result.o.shape[3]; ++d) {
    ASSERT_NEAR(result.o.get({b, h, row, d}), value, 1e-12) << "row " << row;
    ASSERT_NEAR(result.plainO.get({b, h, row, d}), value, plainTolerance * std::fabs(value))
        << "row " << row;
  }
}

static void expectLse(const ReferenceResult &result, int64_t b, int64_t h, int64_t row,
                      double value) {
  if (std::isinf(value)) {
    ASSERT_EQ(result.lse.get({b, h, row}), value);
    ASSERT_EQ(result.plainLse.get({b, h, row}), value);
    return;
  }
  ASSERT_NEAR(result.lse.get({b, h, row}), value, 1e-12);
  ASSERT_NEAR(result.plainLse.get({b, h, row}), value, 1e-6);
}

TEST(Cases, M1_CausalIsBottomRight) {
  AttentionCase c;
  c.attributes = kCausal;
  c.lenQ = 2;
  c.lenKv = 5;
  c.makeTensors();
  c.countingValues();
  ReferenceResult result = c.run();
  expectRow(result, 0, 0, 0, 2.5);
  expectRow(result, 0, 0, 1, 3.0);
  // The named choice of the other corner.
  c.attributes = "masks = [#attn.causal<top_left>]";
  result = c.run();
  expectRow(result, 0, 0, 0, 1.0);
  expectRow(result, 0, 0, 1, 1.5);
  // Any distance between the corners.
  c.attributes = kCausal;
  for (int64_t ahead : {1, 63, 64, 65}) {
    c.lenKv = c.lenQ + ahead;
    c.makeTensors();
    c.countingValues();
    result = c.run();
    expectRow(result, 0, 0, 0, (ahead + 2) / 2.0);
    expectRow(result, 0, 0, 1, (ahead + 3) / 2.0);
  }
}

TEST(Cases, M2_LeadingRowsWithoutKeys) {
  AttentionCase c;
  c.type = "bf16";
  c.attributes = kCausal;
  c.lenQ = 5;
  c.lenKv = 2;
  c.makeTensors();
  c.countingValues();
  ReferenceResult result = c.run();
  for (int64_t row : {0, 1, 2}) {
    expectRow(result, 0, 0, row, 0);
    expectLse(result, 0, 0, row, -kInf);
  }
  expectRow(result, 0, 0, 3, 1.0);
  expectLse(result, 0, 0, 3, 0);
  expectRow(result, 0, 0, 4, 1.5, 1e-2);
  expectLse(result, 0, 0, 4, std::log(2));
}

TEST(Cases, M4_OneTokenCausalSeesEverything) {
  AttentionCase c;
  c.kind = "decode";
  c.type = "bf16";
  c.headsQ = c.headsKv = 2;
  c.lenKv = 100;
  c.makeTensors();
  c.countingValues();
  ReferenceResult plain = c.run();
  c.attributes = kCausal;
  ReferenceResult causal = c.run();
  EXPECT_EQ(*plain.o.storage, *causal.o.storage);
  EXPECT_EQ(*plain.lse.storage, *causal.lse.storage);
  expectRow(causal, 0, 1, 0, 50.5, 1e-2);
}

TEST(Cases, M5_WindowIsInclusive) {
  AttentionCase c;
  c.attributes = "masks = [#attn.causal<bottom_right>, #attn.window<3, 0>]";
  c.lenQ = c.lenKv = 8;
  c.makeTensors();
  c.countingValues();
  expectRow(c.run(), 0, 0, 7, 6.5);
}

TEST(Cases, M7_LookAheadIsInclusive) {
  AttentionCase c;
  c.attributes = "masks = [#attn.window<2, 4>]";
  c.lenQ = c.lenKv = 10;
  c.makeTensors();
  c.countingValues();
  expectRow(c.run(), 0, 0, 0, 3.0);
}

TEST(Cases, M8_DecodeKeepsTheWindow) {
  AttentionCase c;
  c.kind = "decode";
  c.type = "bf16";
  c.attributes = "masks = [#attn.causal<bottom_right>, #attn.window<3, -1>]";
  c.lenKv = 100;
  c.makeTensors();
  c.countingValues();
  expectRow(c.run(), 0, 0, 0, 98.5, 1e-2);
}

TEST(Cases, M9_MaskFollowsTheValidLength) {
  AttentionCase c;
  c.type = "bf16";
  c.attributes = kCausal;
  c.lenQ = 5;
  c.lenKv = 64;
  c.kvLens = {5};
  c.makeTensors();
  c.countingValues();
  for (int64_t j = 5; j < 64; ++j)
    c.setRow("v", 0, 0, j, j % 2 ? 1e4 : NAN);
  ReferenceResult result = c.run();
  for (int64_t row = 0; row < 5; ++row)
    expectRow(result, 0, 0, row, 1 + row / 2.0, 1e-2);
}

/// A mask given as a tensor [q, kv].
static void useTensorMask(AttentionCase &c, HostTensor mask) {
  c.arguments = "%mask: tensor<?x?xi1> {attn.name = \"arg.mask\"}";
  c.tensors["arg.mask"] = std::move(mask);
  c.regions = "mask {\n^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):\n"
              "%m = attn.lookup %mask[%i, %j] : tensor<?x?xi1> -> i1\nattn.yield %m : i1\n}";
}

TEST(Cases, E1_AllFalseRows) {
  AttentionCase c;
  c.type = "bf16";
  c.dim = 8;
  c.lenQ = c.lenKv = 8;
  c.makeTensors();
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const char *name : {"q", "k", "v"})
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t d = 0; d < 8; ++d)
        c.tensors[name].set({0, 0, row, d}, normal(random));
  HostTensor mask = HostTensor::empty(DType::Bool, {8, 8});
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 8; ++j)
      mask.set({i, j}, 1);
  AttentionCase unmasked = c;
  useTensorMask(c, mask);
  ReferenceResult result = c.run(), expected = unmasked.run();
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t d = 0; d < 8; ++d)
      EXPECT_EQ(result.o.get({0, 0, row, d}), expected.o.get({0, 0, row, d}));
  for (int64_t row = 4; row < 8; ++row) {
    expectRow(result, 0, 0, row, 0);
    expectLse(result, 0, 0, row, -kInf);
  }
}

TEST(Cases, E3_NoKeysAtAll) {
  AttentionCase c;
  c.batch = 2;
  c.headsQ = c.headsKv = 4;
  c.lenQ = 16;
  c.lenKv = 0;
  c.makeTensors();
  ReferenceResult result = c.run();
  for (int64_t row = 0; row < 16; ++row) {
    expectRow(result, 1, 3, row, 0);
    expectLse(result, 1, 3, row, -kInf);
  }
}

TEST(Cases, E5_CombineOfEmptyPartials) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::attn::AttnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @f(%o: tensor<?x?x1x?x8xf32> {attn.name = "o_parts"},
                      %l: tensor<?x?x1x?xf32> {attn.name = "lse_parts"})
             -> (tensor<?x1x?x8xf32>, tensor<?x1x?xf32>) {
           %0, %1 = attn.combine %o, %l : tensor<?x?x1x?x8xf32>, tensor<?x?x1x?xf32>
               -> tensor<?x1x?x8xf32>, tensor<?x1x?xf32>
           return %0, %1 : tensor<?x1x?x8xf32>, tensor<?x1x?xf32>
         })",
      &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  // Rows: two empty parts; (o, l) + empty; empty + (o, l).
  HostTensor o = HostTensor::empty(DType::F32, {2, 1, 1, 3, 8});
  HostTensor lse = HostTensor::empty(DType::F32, {2, 1, 1, 3});
  const float value = 0.1f, weight = -3.7f;
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t part = 0; part < 2; ++part)
      lse.set({part, 0, 0, row}, -kInf);
  for (auto [part, row] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}}) {
    lse.set({part, 0, 0, row}, weight);
    for (int64_t d = 0; d < 8; ++d)
      o.set({part, 0, 0, row, d}, value);
  }
  ReferenceResult result;
  ASSERT_EQ(evaluateReference(function, {{"o_parts", o}, {"lse_parts", lse}}, {}, 1, result), "");
  expectRow(result, 0, 0, 0, 0);
  expectLse(result, 0, 0, 0, -kInf);
  for (int64_t row : {1, 2}) {
    EXPECT_EQ(result.plainO.get({0, 0, row, 3}), value);
    EXPECT_EQ(result.o.get({0, 0, row, 3}), value);
    EXPECT_EQ(result.plainLse.get({0, 0, row}), weight);
    EXPECT_EQ(result.lse.get({0, 0, row}), weight);
  }
}

TEST(Cases, E6_LseIsNatural) {
  AttentionCase c;
  c.kind = "decode";
  c.type = "bf16";
  c.lenKv = 8;
  c.makeTensors();
  expectLse(c.run(), 0, 0, 0, std::log(8));
}

TEST(Cases, E8_MaskedKeyDoesNotBeatALowScore) {
  AttentionCase c;
  c.type = "bf16";
  c.attributes = "scale = 1.0 : f32";
  c.lenKv = 2;
  c.makeTensors();
  c.tensors["q"].set({0, 0, 0, 0}, 128);
  c.tensors["k"].set({0, 0, 0, 0}, -128);
  c.setRow("v", 0, 0, 0, 1);
  c.setRow("v", 0, 0, 1, 100);
  HostTensor mask = HostTensor::empty(DType::Bool, {1, 2});
  mask.set({0, 0}, 1);
  useTensorMask(c, mask);
  ReferenceResult result = c.run();
  expectRow(result, 0, 0, 0, 1.0, 0);
  expectLse(result, 0, 0, 0, -16384);
}

TEST(Cases, E9_NaNBehindAMask) {
  for (double poison : {std::nan(""), kInf}) {
    AttentionCase c;
    c.lenQ = c.lenKv = 2;
    c.makeTensors();
    c.setRow("v", 0, 0, 0, 3);
    c.setRow("k", 0, 0, 1, poison);
    c.setRow("v", 0, 0, 1, poison);
    HostTensor mask = HostTensor::empty(DType::Bool, {2, 2});
    mask.set({0, 0}, 1);
    mask.set({1, 0}, 1);
    useTensorMask(c, mask);
    ReferenceResult result = c.run();
    expectRow(result, 0, 0, 0, 3, 0);
    expectRow(result, 0, 0, 1, 3, 0);
  }
}

TEST(Cases, S1_S3_TailsAndPaddingDoNotCount) {
  AttentionCase c;
  c.kind = "decode";
  c.type = "bf16";
  c.batch = 4;
  c.lenKv = 128;
  c.kvLens = {32, 64, 96, 48};
  c.makeTensors();
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t j = 0; j < 128; ++j) {
      c.setRow("v", b, 0, j, j < c.kvLens[b] ? 1 : NAN);
      if (j >= c.kvLens[b])
        c.setRow("k", b, 0, j, NAN);
    }
  ReferenceResult result = c.run();
  for (int64_t b = 0; b < 4; ++b)
    expectRow(result, b, 0, 0, 1.0, 1e-2);
}

TEST(Cases, S7_S11_ZeroLengthsAndTheTail) {
  AttentionCase c;
  c.type = "bf16";
  c.headsQ = 8;
  c.headsKv = 2;
  c.dim = 128;
  c.cuQ = {0, 150, 150, 300};
  c.cuKv = {0, 100, 200, 200};
  c.lenQ = 310;
  c.makeTensors();
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t j = 0; j < 200; ++j)
      c.setRow("v", 0, h, j, j < 100 ? static_cast<double>(h + 1) : 50.0);
  ReferenceResult result = c.run();
  expectRow(result, 0, 3, 149, 1, 1e-2);
  expectRow(result, 0, 4, 0, 2, 1e-2);
  expectLse(result, 0, 4, 0, std::log(100));
  for (int64_t row : {150, 299}) {
    expectRow(result, 0, 5, row, 0);
    expectLse(result, 0, 5, row, -kInf);
  }
  // Rows of no sequence are nobody's to write.
  EXPECT_TRUE(std::isnan(result.o.get({0, 0, 300, 0})));
  EXPECT_TRUE(std::isnan(result.lse.get({0, 0, 309})));
}

TEST(Cases, S14_LengthsBeyondTheTensors) {
  AttentionCase c;
  c.lenKv = 10;
  c.kvLens = {10};
  c.makeTensors();
  c.tensors["kv_lens"].set({0}, 20);
  std::string error;
  c.run(&error);
  EXPECT_EQ(error, "kv_lens[0] is 20; the keys given allow 0 to 10");

  AttentionCase v;
  v.cuQ = {0, 4};
  v.cuKv = {0, 10};
  v.makeTensors();
  v.tensors["cu_seqlens_kv"].set({1}, 20);
  v.run(&error);
  EXPECT_NE(error.find("cu_seqlens_kv[0]"), std::string::npos) << error;
}

TEST(Cases, C1_Softcap) {
  for (const char *kind : {"prefill", "decode"}) {
    AttentionCase c;
    c.kind = kind;
    c.type = "bf16";
    c.headsQ = 8;
    c.headsKv = 4;
    c.lenQ = 16;
    c.lenKv = 2;
    c.dim = 256;
    c.makeTensors();
    for (int64_t h = 0; h < 8; ++h)
      for (int64_t row = 0; row < 16; ++row)
        c.tensors["q"].set({0, h, row, 0}, 8);
    for (int64_t h = 0; h < 4; ++h) {
      c.tensors["k"].set({0, h, 0, 0}, 8); // 8·8/√256 = 4
      c.setRow("v", 0, h, 0, 1);
    }
    double uncapped = c.run().o.get({0, 7, 15, 0});
    EXPECT_NEAR(uncapped, 0.9820, 5e-5);
    c.attributes = "scores = [#attn.softcap<2.0 : f32>]";
    ReferenceResult result = c.run();
    EXPECT_NEAR(result.o.get({0, 7, 15, 0}), 0.8730, 5e-5);
    EXPECT_NEAR(result.plainO.get({0, 0, 0, 255}), 0.8730, 4e-3);
    // Order: the cap of the score region is the sugar's.
    c.attributes.clear();
    c.arguments = "%cap: f32 {attn.name = \"arg.cap\"}";
    c.scalars["arg.cap"] = 2;
    c.regions = "score {\n^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %lq: i32, %lk: i32):\n"
                "%x = arith.divf %s, %cap : f32\n%t = math.tanh %x : f32\n"
                "%y = arith.mulf %t, %cap : f32\nattn.yield %y : f32\n}";
    EXPECT_EQ(c.run().o.get({0, 7, 15, 0}), result.o.get({0, 7, 15, 0}));
  }
}

/// Σ_j (j + 1)·exp(−slope·(n − 1 − j)) / Σ_j exp(…): the last row under ALiBi with Q = 0.
static double alibiRow(double slope, int64_t n) {
  double sum = 0, weighted = 0;
  for (int64_t j = 0; j < n; ++j) {
    double weight = std::exp(-slope * static_cast<double>(n - 1 - j));
    sum += weight;
    weighted += weight * static_cast<double>(j + 1);
  }
  return weighted / sum;
}

TEST(Cases, C3_Alibi) {
  EXPECT_NEAR(alibiRow(1, 4), 3.4927, 5e-5);
  // Slope 1 by an expression, dense, paged and varlen.
  const char *slopeOne =
      "score {\n^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %lq: i32, %lk: i32):\n"
      "%0 = arith.addi %i, %lk : i32\n%p = arith.subi %0, %lq : i32\n"
      "%d = arith.subi %p, %j : i32\n%f = arith.sitofp %d : i32 to f32\n"
      "%y = arith.subf %s, %f : f32\nattn.yield %y : f32\n}";
  AttentionCase dense;
  dense.kind = "decode";
  dense.lenKv = 4;
  dense.regions = slopeOne;
  dense.makeTensors();
  dense.countingValues();
  EXPECT_NEAR(dense.run().o.get({0, 0, 0, 0}), 3.4927, 5e-5);

  AttentionCase varlen = dense;
  varlen.kind = "prefill";
  varlen.cuQ = {0, 1};
  varlen.cuKv = {0, 4};
  varlen.makeTensors();
  varlen.countingValues();
  EXPECT_NEAR(varlen.run().o.get({0, 0, 0, 0}), 3.4927, 5e-5);

  AttentionCase paged = dense;
  paged.kvLens = {4};
  paged.pages = 5;
  paged.pageSize = 2;
  paged.blockTable = {{3, 1, 9999}}; // a page past the length is never looked at
  paged.makeTensors();
  for (int64_t page = 0; page < 5; ++page)
    for (int64_t row = 0; row < 2; ++row)
      paged.setRow("v", page, 0, row, NAN);
  for (int64_t j = 0; j < 4; ++j)
    paged.setRow("v", j < 2 ? 3 : 1, 0, j % 2, static_cast<double>(j + 1));
  EXPECT_NEAR(paged.run().o.get({0, 0, 0, 0}), 3.4927, 5e-5);

  // 40 heads by name.
  AttentionCase named;
  named.kind = "decode";
  named.headsQ = named.headsKv = 40;
  named.lenKv = 4;
  named.attributes = "scores = [#attn.alibi<40>]";
  named.makeTensors();
  named.countingValues();
  ReferenceResult result = named.run();
  for (int64_t h = 0; h < 40; ++h) {
    double slope = h < 32 ? std::exp2(-8.0 * static_cast<double>(h + 1) / 32)
                          : std::exp2(-4.0 * static_cast<double>(2 * (h - 32) + 1) / 32);
    EXPECT_NEAR(result.o.get({0, h, 0, 0}), alibiRow(slope, 4), 1e-12) << "head " << h;
  }
}

TEST(Cases, C6_BroadcastMask) {
  AttentionCase c;
  c.batch = 4;
  c.lenQ = c.lenKv = 32;
  c.dim = 16;
  c.makeTensors();
  c.countingValues();
  // [4, 1, 1, 32] by zero strides.
  HostTensor mask = HostTensor::empty(DType::Bool, {4, 1, 32, 32});
  mask.strides[2] = 0;
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t j = 0; j <= b; ++j)
      mask.set({b, 0, 0, j}, 1);
  c.arguments = "%mask: tensor<?x?x?x?xi1> {attn.name = \"arg.mask\"}";
  c.tensors["arg.mask"] = mask;
  c.regions = "mask {\n^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %lq: i32, %lk: i32):\n"
              "%c0 = arith.constant 0 : i32\n"
              "%m = attn.lookup %mask[%b, %c0, %i, %j] : tensor<?x?x?x?xi1> -> i1\n"
              "attn.yield %m : i1\n}";
  ReferenceResult result = c.run();
  for (int64_t b = 0; b < 4; ++b)
    expectRow(result, b, 0, 31, static_cast<double>(b + 2) / 2);
  // C12: a mask of another batch is an error, not a wild read.
  HostTensor small = HostTensor::empty(DType::Bool, {3, 1, 32, 32});
  c.tensors["arg.mask"] = small;
  std::string error;
  c.run(&error);
  EXPECT_NE(error.find("reads index 3 of dimension 0"), std::string::npos) << error;
}

TEST(Cases, C9_Sink) {
  for (int64_t lenQ : {1, 16})
    for (const char *kind : {"prefill", "decode"}) {
      AttentionCase c;
      c.kind = kind;
      c.type = "bf16";
      c.lenQ = lenQ;
      c.lenKv = 5;
      c.sinks = {std::log(15.0)};
      c.makeTensors();
      for (int64_t j = 0; j < 5; ++j)
        c.setRow("v", 0, 0, j, 1);
      ReferenceResult result = c.run();
      EXPECT_NEAR(result.o.get({0, 0, lenQ - 1, 0}), 0.25, 1e-7); // the sink is f32
      EXPECT_NEAR(result.lse.get({0, 0, lenQ - 1}), std::log(20.0), 1e-7);
    }
}

TEST(Cases, C11_SinkOnce) {
  AttentionCase c;
  c.kind = "decode";
  c.type = "bf16";
  c.headsQ = 8;
  c.lenKv = 4096;
  c.attributes = "masks = [#attn.causal<bottom_right>, #attn.window<127, -1>]";
  c.sinks.assign(8, std::log(128.0));
  c.makeTensors();
  for (int64_t j = 0; j < 4096; ++j)
    c.setRow("v", 0, 0, j, 1);
  ReferenceResult result = c.run();
  for (int64_t h = 0; h < 8; ++h)
    EXPECT_NEAR(result.o.get({0, h, 0, 0}), 0.5, 1e-7);
  // Without keys: O = 0 and LSE = the sink.
  c.lenKv = 0;
  c.makeTensors();
  result = c.run();
  expectRow(result, 0, 7, 0, 0);
  EXPECT_EQ(result.lse.get({0, 7, 0}), static_cast<float>(std::log(128.0)));
}

TEST(Cases, D7_OtherHeadDimForV) {
  AttentionCase c;
  c.dim = 192;
  c.dimV = 128;
  c.lenQ = c.lenKv = 4;
  c.makeTensors();
  c.countingValues();
  c.tensors["q"].set({0, 0, 0, 0}, 1);
  c.tensors["k"].set({0, 0, 3, 0}, 2);
  ReferenceResult result = c.run();
  EXPECT_EQ(result.o.shape.back(), 128);
  double weight = std::exp(2 / std::sqrt(192.0)); // the default scale is 1/√d_qk
  EXPECT_NEAR(result.o.get({0, 0, 0, 127}), (6 + 4 * weight) / (3 + weight), 1e-12);
}

TEST(Cases, MissingAndMisshapenInputs) {
  AttentionCase c;
  c.makeTensors();
  std::string error;
  AttentionCase missing = c;
  missing.tensors.erase("k");
  missing.run(&error);
  EXPECT_EQ(error, "the tensor 'k' is missing");
  AttentionCase dims = c;
  dims.tensors["k"] = HostTensor::empty(DType::F16, {1, 1, 1, 32});
  dims.run(&error);
  EXPECT_EQ(error, "the tensor 'k' has shape [1, 1, 1, 32]; expected [?, 1, ?, 64]");
  AttentionCase type = c;
  type.tensors["q"] = HostTensor::empty(DType::BF16, {1, 1, 1, 64});
  type.run(&error);
  EXPECT_EQ(error, "the tensor 'q' is bf16; expected f16");
}

TEST(Cases, PageNumbersAreChecked) {
  AttentionCase c;
  c.kind = "decode";
  c.kvLens = {3};
  c.pages = 2;
  c.pageSize = 2;
  c.blockTable = {{0, 2}};
  c.makeTensors();
  std::string error;
  c.run(&error);
  EXPECT_EQ(error, "block_table[0, 1] names page 2; there are 2 pages");
}
