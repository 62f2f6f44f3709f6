// HostProgram on hand-written tile kernels, against plain double-precision computations.
#include "PrefillText.h"

using namespace attnc;
using namespace attnc::testing;

namespace {

struct Problem {
  int64_t batch, heads, headsKv, lenQ, lenKv, dim;
  DType dtype;
  std::map<std::string, HostTensor> tensors;
  ProblemSizes sizes;

  /// K and V have rows past the valid length, which hold NaN.
  Problem(int64_t batch, int64_t heads, int64_t headsKv, int64_t lenQ, int64_t lenKv, int64_t dim,
          DType dtype)
      : batch(batch), heads(heads), headsKv(headsKv), lenQ(lenQ), lenKv(lenKv), dim(dim),
        dtype(dtype) {
    tensors["q"] = HostTensor::emptyBSHD(dtype, {batch, heads, lenQ, dim});
    fillRandom(tensors["q"], 1);
    for (std::string name : {"k", "v"}) {
      HostTensor tensor = HostTensor::emptyBSHD(dtype, {batch, headsKv, lenKv + 3, dim});
      fillNaN(tensor);
      tensor.shape[2] = lenKv;
      fillRandom(tensor, name == "k" ? 2 : 3);
      tensors[name] = tensor;
    }
    tensors["o"] = HostTensor::emptyBSHD(dtype, {batch, heads, lenQ, dim});
    tensors["lse"] = HostTensor::empty(DType::F32, {batch, heads, lenQ});
    for (std::string name : {"o", "lse"}) {
      fillNaN(tensors[name]);
      addGuard(tensors[name]);
    }
    sizes = {{"batch", batch}, {"heads_q", heads}, {"max_len_q", lenQ}, {"max_len_kv", lenKv}};
  }

  /// Compares with causal attention in double; `tolerance` in units of the output's rounding.
  void check(double tolerance) {
    const HostTensor &q = tensors["q"], &k = tensors["k"], &v = tensors["v"];
    double worst = 0;
    forEachIndex({batch, heads, lenQ}, [&](const std::vector<int64_t> &at) {
      int64_t b = at[0], h = at[1], i = at[2], hk = h / (heads / headsKv);
      int64_t visible = std::clamp<int64_t>(i + lenKv - lenQ + 1, 0, lenKv);
      std::vector<double> s(visible), out(dim, 0.0);
      double max = -INFINITY, sum = 0;
      for (int64_t j = 0; j < visible; ++j) {
        for (int64_t d = 0; d < dim; ++d)
          s[j] += q.get({b, h, i, d}) * k.get({b, hk, j, d});
        s[j] /= std::sqrt(double(dim));
        max = std::max(max, s[j]);
      }
      for (int64_t j = 0; j < visible; ++j) {
        double p = std::exp(s[j] - max);
        sum += p;
        for (int64_t d = 0; d < dim; ++d)
          out[d] += p * v.get({b, hk, j, d});
      }
      double lse = tensors["lse"].get({b, h, i});
      if (visible == 0)
        EXPECT_EQ(lse, -INFINITY);
      else
        EXPECT_NEAR(lse, max + std::log(sum), 2e-5) << "row " << i;
      for (int64_t d = 0; d < dim; ++d) {
        double error = std::abs(tensors["o"].get({b, h, i, d}) - (visible ? out[d] / sum : 0.0));
        worst = std::isnan(error) ? INFINITY : std::max(worst, error);
      }
    });
    EXPECT_LE(worst, tolerance);
    EXPECT_TRUE(guardHolds(tensors["o"]));
    EXPECT_TRUE(guardHolds(tensors["lse"]));
  }
};

double toleranceOf(DType dtype) {
  return dtype == DType::F32 ? 4e-6 : dtype == DType::F16 ? 2e-3 : 1.6e-2;
}

void runPrefill(const PrefillShape &shape, DType dtype, std::vector<std::pair<int64_t, int64_t>> lengths) {
  auto program = compileText(prefillText(shape));
  ASSERT_TRUE(program);
  for (auto [lenQ, lenKv] : lengths) {
    SCOPED_TRACE("lengths " + std::to_string(lenQ) + ", " + std::to_string(lenKv));
    Problem problem(2, shape.heads, shape.heads / shape.group, lenQ, lenKv, shape.dim, dtype);
    ASSERT_EQ(program->run(problem.sizes, problem.tensors, {}, 2), "");
    problem.check(toleranceOf(dtype));
  }
}

const std::vector<std::pair<int64_t, int64_t>> kLengths = {
    {1, 1}, {15, 31}, {16, 32}, {17, 33}, {40, 100}, {33, 5}, {3, 0}};

} // namespace

TEST(HostPrefill, BF16) { runPrefill({"bf16", 2, 1, 32, 16, 32}, DType::BF16, kLengths); }
TEST(HostPrefill, F16) { runPrefill({"f16", 2, 1, 64, 16, 32}, DType::F16, kLengths); }
TEST(HostPrefill, F32) { runPrefill({"f32", 2, 1, 64, 16, 32}, DType::F32, kLengths); }
TEST(HostPrefill, GroupedHeads) { runPrefill({"bf16", 4, 2, 128, 64, 64}, DType::BF16, kLengths); }
TEST(HostPrefill, HeadDim40) { runPrefill({"bf16", 2, 1, 40, 16, 32}, DType::BF16, kLengths); }
TEST(HostPrefill, HeadDim33) { runPrefill({"f32", 2, 1, 33, 16, 32}, DType::F32, kLengths); }
TEST(HostPrefill, HeadDim256) { runPrefill({"f16", 1, 1, 256, 32, 32}, DType::F16, kLengths); }

TEST(HostPrefill, SameBitsOnAnyNumberOfThreads) {
  auto program = compileText(prefillText({}));
  ASSERT_TRUE(program);
  Problem one(2, 2, 2, 100, 100, 32, DType::BF16), many = one;
  for (std::string name : {"o", "lse"})
    many.tensors[name].storage =
        std::make_shared<std::vector<uint8_t>>(*one.tensors[name].storage);
  ASSERT_EQ(program->run(one.sizes, one.tensors, {}, 1), "");
  ASSERT_EQ(program->run(many.sizes, many.tensors, {}, 7), "");
  for (std::string name : {"o", "lse"})
    EXPECT_EQ(*one.tensors[name].storage, *many.tensors[name].storage);
}

TEST(HostProgram, ZeroGridSucceedsAndWritesNothing) {
  auto program = compileText(prefillText({}));
  ASSERT_TRUE(program);
  Problem problem(1, 2, 2, 4, 4, 32, DType::BF16);
  problem.sizes["max_len_q"] = 0;
  auto before = *problem.tensors["o"].storage;
  EXPECT_EQ(program->run(problem.sizes, problem.tensors, {}, 2), "");
  EXPECT_EQ(*problem.tensors["o"].storage, before);
}

TEST(HostProgram, NamesWhatIsMissingOrMistyped) {
  auto program = compileText(prefillText({}));
  ASSERT_TRUE(program);
  Problem good(1, 2, 2, 4, 4, 32, DType::BF16);
  auto errorWith = [&](auto change) {
    Problem bad = good;
    change(bad);
    return program->run(bad.sizes, bad.tensors, {}, 1);
  };
  EXPECT_EQ(errorWith([](Problem &p) { p.tensors.erase("k"); }),
            "kernel 'prefill': tensor 'k' (bf16, shape [any, any, any, 32]) is not given");
  EXPECT_EQ(errorWith([](Problem &p) { p.tensors["v"].dtype = DType::F16; }),
            "kernel 'prefill': tensor 'v' has type f16; the kernel was compiled for bf16");
  EXPECT_EQ(errorWith([](Problem &p) { p.tensors["q"].shape[3] = 16; }),
            "kernel 'prefill': tensor 'q' has shape [1, 2, 4, 16]; the kernel was compiled for "
            "[any, any, any, 32]");
  EXPECT_EQ(errorWith([](Problem &p) { p.tensors["q"].strides[3] = 2; }),
            "kernel 'prefill': tensor 'q' has inner stride 2; the kernel needs 1: copy the tensor "
            "to a contiguous last dimension");
  EXPECT_EQ(errorWith([](Problem &p) { p.sizes.erase("batch"); }),
            "kernel 'prefill': grid: size 'batch' is not given");
  EXPECT_EQ(errorWith([](Problem &p) { p.sizes["batch"] = int64_t(1) << 40; }),
            "kernel 'prefill': a grid of 2199023255552 programs; allowed: 0 to 2147483647");
  EXPECT_EQ(errorWith([](Problem &p) { p.sizes["batch"] = int64_t(1) << 62; }),
            "kernel 'prefill': grid: mul(4611686018427387904, 2) exceeds 64 bits");
  EXPECT_EQ(errorWith([](Problem &p) { p.sizes["max_len_kv"] = int64_t(1) << 33; }),
            "kernel 'prefill': scalar 'max_len_kv' exceeds the 32 bits that kernels count with");
}

TEST(HostProgram, RefusesAModuleWithoutKernels) {
  std::string error;
  EXPECT_FALSE(compileText("module {}", &error));
  EXPECT_NE(error.find("no tile.kernel"), std::string::npos) << error;
}
