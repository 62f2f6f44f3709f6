// The tolerance rule: what passes and what does not.
#include "attnc/Reference/Reference.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace attnc;

namespace {
/// One row of four values: 1, 2, 0.5, 0.25; the plain result is off by 0.01 in one place.
struct Tolerance : ::testing::Test {
  HostTensor reference = HostTensor::empty(DType::F64, {1, 1, 1, 4});
  HostTensor plain = HostTensor::empty(DType::F32, {1, 1, 1, 4});
  HostTensor out = HostTensor::empty(DType::F32, {1, 1, 1, 4});

  Tolerance() {
    double values[] = {1, 2, 0.5, 0.25};
    for (int64_t d = 0; d < 4; ++d)
      for (HostTensor *tensor : {&reference, &plain, &out})
        tensor->set({0, 0, 0, d}, values[d]);
    plain.set({0, 0, 0, 1}, 2.01);
  }
  Comparison compare() { return compareWithReference(out, reference, plain); }
};
} // namespace

TEST_F(Tolerance, TwiceThePlainErrorPasses) {
  out.set({0, 0, 0, 0}, 1.0199);
  Comparison comparison = compare();
  EXPECT_TRUE(comparison.ok) << comparison.message;
  EXPECT_NEAR(comparison.errorRatio, 1.99, 1e-3);
  EXPECT_NEAR(comparison.maxAbs, 0.0199, 1e-6);
}

TEST_F(Tolerance, MoreDoesNot) {
  out.set({0, 0, 0, 2}, 0.5202);
  Comparison comparison = compare();
  EXPECT_FALSE(comparison.ok);
  EXPECT_EQ(comparison.mismatches, 1);
  EXPECT_NE(comparison.message.find("first mismatch at [0, 0, 0, 2]"), std::string::npos)
      << comparison.message;
}

TEST_F(Tolerance, OneUnitInTheLastPlacePassesWithoutPlainError) {
  plain.set({0, 0, 0, 1}, 2);
  out = HostTensor::empty(DType::BF16, {1, 1, 1, 4});
  for (int64_t d = 0; d < 4; ++d)
    out.set({0, 0, 0, d}, reference.get({0, 0, 0, d}));
  out.set({0, 0, 0, 1}, 2 + 1.0 / 64);
  EXPECT_TRUE(compare().ok);
  out.set({0, 0, 0, 1}, 2 + 2.0 / 64);
  EXPECT_FALSE(compare().ok);
}

TEST_F(Tolerance, NaNAndInfinityFail) {
  for (double bad : {std::nan(""), double(INFINITY)}) {
    out.set({0, 0, 0, 3}, bad);
    Comparison comparison = compare();
    EXPECT_FALSE(comparison.ok);
    EXPECT_EQ(comparison.nonFinite, 1);
  }
}

TEST_F(Tolerance, EmptyRowsAreExactlyZero) {
  for (int64_t d = 0; d < 4; ++d)
    for (HostTensor *tensor : {&reference, &out})
      tensor->set({0, 0, 0, d}, 0);
  EXPECT_TRUE(compare().ok);
  out.set({0, 0, 0, 0}, 1e-30);
  EXPECT_FALSE(compare().ok);
}

TEST_F(Tolerance, LseInfinitiesAreExact) {
  HostTensor lse = HostTensor::empty(DType::F64, {1, 1, 2});
  HostTensor plainLse = HostTensor::empty(DType::F32, {1, 1, 2});
  HostTensor outLse = HostTensor::empty(DType::F32, {1, 1, 2});
  for (HostTensor *tensor : {&lse, &plainLse, &outLse})
    tensor->set({0, 0, 1}, -INFINITY);
  EXPECT_TRUE(compareWithReference(outLse, lse, plainLse).ok);
  outLse.set({0, 0, 1}, -1e30);
  EXPECT_FALSE(compareWithReference(outLse, lse, plainLse).ok);
  outLse.set({0, 0, 1}, INFINITY);
  EXPECT_FALSE(compareWithReference(outLse, lse, plainLse).ok);
}

TEST_F(Tolerance, RowsOfNoSequenceAreNotJudged) {
  for (int64_t d = 0; d < 4; ++d)
    reference.set({0, 0, 0, d}, std::nan(""));
  Comparison comparison = compare();
  EXPECT_TRUE(comparison.ok);
  EXPECT_EQ(comparison.notCompared, 4);
}

TEST_F(Tolerance, ShapesMustAgree) {
  out = HostTensor::empty(DType::F32, {1, 1, 4, 1});
  EXPECT_FALSE(compare().ok);
}
