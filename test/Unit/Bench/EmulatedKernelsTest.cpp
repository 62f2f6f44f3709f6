// The numbers of the bench's CUDA kernels without a GPU: reference, comparison and the hand-written
// baselines run on the CPU by emulation and are compared with a plain fp64 loop.
#include "CudaEmulation.h"

#include <algorithm>
#include <gtest/gtest.h>

#define EMULATED
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))

using namespace attnc::bench;
using emulation::launch;

// Kernel texts without their raw-string brackets and extern "C" (made by CMake).
#define __shared__ static
namespace truth {
using namespace emulation;
#include "truth.emulated.inc"
} // namespace truth

namespace naive_bf16 {
using namespace emulation;
#define DT 0
inline float toF(std::uint16_t x) { return wide(x, true); }
inline std::uint16_t fromF(float f) { return narrowTo(f, true); }
#include "naive.emulated.inc"
#undef DT
} // namespace naive_bf16

// One instance of the decode kernels a namespace.
#define DECODE_HELPERS(bf16)                                                                       \
  using namespace emulation;                                                                       \
  inline void widen(float *f, uint4 v) {                                                           \
    const std::uint32_t w[4] = {v.x, v.y, v.z, v.w};                                               \
    for (int i = 0; i < 8; ++i)                                                                    \
      f[i] = wide(std::uint16_t(i % 2 ? w[i / 2] >> 16 : w[i / 2]), bf16);                         \
  }                                                                                                \
  inline std::uint16_t narrow(float f) { return narrowTo(f, bf16); }
namespace decode_128_4 {
DECODE_HELPERS(true)
#define D 128
#define DT 0
#define G 4
#include "decode.emulated.inc"
#undef D
#undef DT
#undef G
} // namespace decode_128_4
namespace decode_64_1 {
DECODE_HELPERS(false)
#define D 64
#define DT 1
#define G 1
#include "decode.emulated.inc"
#undef D
#undef DT
#undef G
#undef C
#undef E
} // namespace decode_64_1
#undef __shared__

// Dynamic shared memory is a variable of the namespace.
#define __shared__
#define FLASH_HELPERS(bf16)                                                                        \
  using namespace emulation;                                                                       \
  inline std::uint64_t smem(const void *p) { return reinterpret_cast<std::uint64_t>(p); }          \
  inline std::uint32_t pack(float low, float high) {                                               \
    return narrowTo(low, bf16) | std::uint32_t(narrowTo(high, bf16)) << 16;                        \
  }                                                                                                \
  inline void mma(float *c, const std::uint32_t *a, std::uint32_t b0, std::uint32_t b1) {          \
    mma16816(c, a, b0, b1, bf16);                                                                  \
  }                                                                                                \
  inline void load4(std::uint32_t *r, std::uint64_t p) { ldmatrix4(r, p, false); }                 \
  inline void load4t(std::uint32_t *r, std::uint64_t p) { ldmatrix4(r, p, true); }                 \
  inline void copy16(std::uint16_t *target, const std::uint16_t *source, bool in) {                \
    if (in)                                                                                        \
      std::memcpy(target, source, 16);                                                             \
    else                                                                                           \
      std::memset(target, 0, 16);                                                                  \
  }
#define COMMIT
#define WAIT(n)
namespace flash_64_causal {
FLASH_HELPERS(true)
#define D 64
#define DT 0
#define CAUSAL 1
#include "flash.emulated.inc"
#undef D
#undef DT
#undef CAUSAL
std::uint16_t shared[3 * 64 * 72] __attribute__((aligned(16)));
} // namespace flash_64_causal
namespace flash_160_full {
FLASH_HELPERS(false)
#define D 160
#define DT 1
#define CAUSAL 0
#include "flash.emulated.inc"
std::uint16_t shared[(64 + 2 * 32) * 168] __attribute__((aligned(16)));
} // namespace flash_160_full

namespace {

struct Data {
  std::vector<std::uint16_t> q, k, v, o;
  std::vector<double> expected;
};

Config config(const char *regime, std::int64_t n, std::int64_t hq, std::int64_t hkv, std::int64_t d,
              const char *dtype, bool causal) {
  Config c;
  c.regime = regime;
  c.batch = 2;
  c.n = n;
  c.hq = hq;
  c.hkv = hkv;
  c.headDim = d;
  c.dtype = dtype;
  c.causal = causal;
  return c;
}

Data makeData(const Config &c) {
  Data data;
  const auto fill = [&](InputTensor t, std::int64_t n) {
    std::vector<std::uint16_t> out;
    for (std::int64_t i = 0; i < n; ++i)
      out.push_back(halfBits(inputValue(3, t, std::uint64_t(i)), c.dtype));
    return out;
  };
  data.q = fill(InputTensor::Q, c.qElements());
  data.k = fill(InputTensor::K, c.kvElements());
  data.v = fill(InputTensor::V, c.kvElements());
  data.o.assign(std::size_t(c.qElements()), 0x7fff); // NaN in both types
  data.expected = cpuAttention(c, 3);
  return data;
}

/// Largest error; infinite when an element is no number.
double worstError(const Config &c, const Data &data) {
  double worst = 0;
  for (std::size_t i = 0; i < data.o.size(); ++i) {
    const double x = emulation::wide(data.o[i], c.dtype == "bf16");
    const double e = std::abs(x - data.expected[i]);
    worst = std::isfinite(e) ? std::max(worst, e) : INFINITY;
  }
  return worst;
}

} // namespace

TEST(EmulatedKernels, FillMakesTheInputs) {
  std::vector<std::uint16_t> out(1000);
  launch(2, 256, [&] { truth::bench_fill(out.data(), out.size(), 3, 1, 0); });
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], halfBits(inputValue(3, InputTensor::K, i), "bf16")) << i;
}

TEST(EmulatedKernels, TheReferenceIsTheFp64Loop) {
  for (const char *variant : {"", "softcap-5", "alibi", "window-7", "document-9"}) {
    Config c = config("prefill", 19, 6, 2, 40, "fp16", true);
    if (*variant)
      c.variant = variant;
    Data data = makeData(c);
    std::vector<long long> rows;
    for (long long r = 0; r < 2 * 6 * 19; r += 3)
      rows.push_back(r);
    std::vector<double> out(rows.size() * 40, NAN);
    const Variant v = *c.parsedVariant();
    launch(3, 256, [&] {
      truth::bench_reference(data.q.data(), data.k.data(), data.v.data(), out.data(), rows.data(),
                             int(rows.size()), 6, 2, 19, 19, 40, 1, 1, int(v.kind), v.value,
                             1 / std::sqrt(40.0));
    });
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t d = 0; d < 40; ++d)
        ASSERT_NEAR(out[r * 40 + d], data.expected[std::size_t(rows[r]) * 40 + d], 1e-13)
            << variant << " row " << rows[r];
  }
}

TEST(EmulatedKernels, PlainAndCompareGiveTheNaiveError) {
  const Config c = config("decode", 100, 4, 2, 64, "bf16", false);
  Data data = makeData(c);
  const int count = 8;
  std::vector<long long> rows = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> plain(count * 64, NAN), stats(count * 7);
  std::vector<float> scratch(2 * 100);
  launch(2, 256, [&] {
    truth::bench_plain(data.q.data(), data.k.data(), data.v.data(), plain.data(), rows.data(),
                       count, 4, 2, 1, 100, 64, 0, 0, 0, 0.0, 0.125, scratch.data());
  });
  launch(1, 128, [&] {
    truth::bench_compare(plain.data(), data.expected.data(), rows.data(), count, 64, 3, 1,
                         stats.data());
  });
  double worst = 0, direct = 0;
  for (int r = 0; r < count; ++r) {
    worst = std::max(worst, stats[std::size_t(r) * 7]);
    EXPECT_EQ(stats[std::size_t(r) * 7 + 5], 0);
    EXPECT_GT(stats[std::size_t(r) * 7 + 2] /
                  std::sqrt(stats[std::size_t(r) * 7 + 3] * stats[std::size_t(r) * 7 + 4]),
              0.999);
  }
  for (std::size_t i = 0; i < plain.size(); ++i)
    direct = std::max(direct, std::abs(plain[i] - data.expected[i]));
  EXPECT_EQ(worst, direct);
  EXPECT_GT(worst, 1e-5) << "a bf16 result has an error";
  EXPECT_LT(worst, 1e-2);
}

TEST(EmulatedKernels, CompareCountsWhatIsNoNumber) {
  std::vector<std::uint16_t> o(64, 0x7fff);
  o[3] = 0x3f80;
  std::vector<double> ref(64, 1.0), stats(7);
  std::vector<long long> rows = {0};
  unsigned long long bad = 0;
  launch(1, 128, [&] {
    truth::bench_compare(o.data(), ref.data(), rows.data(), 1, 64, 0, 0, stats.data());
  });
  launch(1, 64, [&] { truth::bench_count_nonfinite(o.data(), 64, 0, &bad); });
  EXPECT_EQ(stats[5], 63);
  EXPECT_EQ(bad, 63u);
}

TEST(EmulatedKernels, NaiveIsRight) {
  for (bool causal : {false, true}) {
    const Config c = config("prefill", 37, 4, 2, 40, "bf16", causal);
    Data data = makeData(c);
    std::vector<float> s(8 * 37 * 37, NAN);
    std::vector<std::uint16_t> p(8 * 37 * 37, 0x7fff);
    launch(8 * 3 * 3, 256, [&] {
      naive_bf16::naive_scores(data.q.data(), data.k.data(), s.data(), 4, 2, 37, 37, 40,
                               1 / std::sqrt(40.0f), causal);
    });
    launch(8 * 37, 256, [&] { naive_bf16::naive_softmax(s.data(), p.data(), 37); });
    launch(8 * 3 * 3, 256, [&] {
      naive_bf16::naive_output(p.data(), data.v.data(), data.o.data(), 4, 2, 37, 37, 40);
    });
    EXPECT_LT(worstError(c, data), 1e-2) << causal;
  }
}

TEST(EmulatedKernels, FlashIsRight) {
  const auto run = [](const Config &c, Data &data, auto kernel) {
    const long long blocks = (c.n + 63) / 64;
    launch(unsigned(c.batch * c.hq * blocks), 128, [&] {
      kernel(data.q.data(), data.k.data(), data.v.data(), data.o.data(), int(c.hq), int(c.hkv), c.n,
             c.n, 1.44269504f / std::sqrt(float(c.headDim)));
    });
  };
  for (std::int64_t n : {1, 64, 150}) {
    const Config c = config("prefill", n, 4, 2, 64, "bf16", true);
    Data data = makeData(c);
    run(c, data, flash_64_causal::flash_forward);
    EXPECT_LT(worstError(c, data), 1e-2) << n;
    const Config f = config("prefill", n, 2, 1, 160, "fp16", false);
    Data full = makeData(f);
    run(f, full, flash_160_full::flash_forward);
    EXPECT_LT(worstError(f, full), 2e-3) << n;
  }
}

TEST(EmulatedKernels, DecodeIsRight) {
  for (std::int64_t n : {1, 33, 200})
    for (int splits : {1, 3}) {
      // Six query heads a KV head: a full chunk of four and a rest of two.
      const Config c = config("decode", n, 12, 2, 128, "bf16", false);
      Data data = makeData(c);
      const int rows = 24;
      std::vector<float> part(std::size_t(splits * rows) * 128, NAN), m(part.size(), NAN),
          l(part.size(), NAN);
      launch(unsigned(4 * 2 * splits), 128, [&] {
        decode_128_4::decode_split(data.q.data(), data.k.data(), data.v.data(), part.data(),
                                   m.data(), l.data(), 2, 12, 2, n, splits,
                                   1.44269504f / std::sqrt(128.0f));
      });
      launch(rows, 128, [&] {
        decode_128_4::decode_combine(part.data(), m.data(), l.data(), data.o.data(), rows, splits);
      });
      EXPECT_LT(worstError(c, data), 1e-2) << n << " in " << splits;

      const Config one = config("decode", n, 3, 3, 64, "fp16", false);
      Data single = makeData(one);
      launch(unsigned(6 * splits), 128, [&] {
        decode_64_1::decode_split(single.q.data(), single.k.data(), single.v.data(), part.data(),
                                  m.data(), l.data(), 2, 3, 3, n, splits, 1.44269504f / 8);
      });
      launch(6, 64, [&] {
        decode_64_1::decode_combine(part.data(), m.data(), l.data(), single.o.data(), 6, splits);
      });
      EXPECT_LT(worstError(one, single), 2e-3) << n << " in " << splits;
    }
}
