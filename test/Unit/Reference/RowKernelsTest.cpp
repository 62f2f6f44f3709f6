// The reference's inner loops and its fast rounding.
#include "RowKernels.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace attnc;
using namespace attnc::reference;

TEST(RowKernels, RoundProbabilityIsStoreElement) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-30, 0), mantissa(1, 2);
  auto check = [](float p) {
    for (DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F8E4M3}) {
      uint8_t stored[4];
      storeElement(stored, dtype, p);
      ASSERT_EQ(roundProbability(p, dtype), loadElement(stored, dtype))
          << p << " as " << dtypeName(dtype);
    }
  };
  for (float p : {0.0f, 1.0f, 0.5f, std::ldexp(1.0f, -14), std::ldexp(1.0f, -24),
                  std::ldexp(1.0f, -25), std::ldexp(3.0f, -25), std::ldexp(2047.0f, -25),
                  1 - std::ldexp(1.0f, -12), 1 - std::ldexp(1.0f, -9)})
    check(p);
  for (int i = 0; i < 20000; ++i)
    check(std::ldexp(mantissa(random) / 2, static_cast<int>(exponent(random))));
}

TEST(RowKernels, DotsAndSums) {
  // Odd dims take the loop's tail.
  for (int64_t dim : {1, 8, 13, 64}) {
    std::vector<float> q(dim), k(3 * dim);
    for (int64_t d = 0; d < dim; ++d) {
      q[d] = static_cast<float>(d + 1);
      for (int64_t row = 0; row < 3; ++row)
        k[row * dim + d] = static_cast<float>(row + 1);
    }
    std::vector<int64_t> keys{2, 0};
    double sum = static_cast<double>(dim * (dim + 1) / 2);
    std::vector<double> exact(2);
    std::vector<float> plain(2);
    dotKeys(q.data(), k.data(), dim, keys, exact.data());
    dotKeys(q.data(), k.data(), dim, keys, plain.data());
    EXPECT_EQ(exact, (std::vector<double>{3 * sum, sum}));
    EXPECT_EQ(plain[0], 3 * sum);
    std::vector<double> weights{0.5, 2}, acc(dim, 1);
    addValues(weights.data(), k.data(), dim, keys, acc.data());
    EXPECT_EQ(acc.back(), 1 + 0.5 * 3 + 2 * 1);
  }
}
