// Element conversions and strides of host tensors.
#include "attnc/Support/HostTensor.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace attnc;

static double roundTrip(DType dtype, double value) {
  uint8_t bytes[8] = {};
  storeElement(bytes, dtype, value);
  return loadElement(bytes, dtype);
}

static unsigned stored(DType dtype, double value) {
  uint8_t bytes[8] = {};
  storeElement(bytes, dtype, value);
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  return bits;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Every stored pattern is a fixed point, and halfway between neighbours goes to the even one.
static void checkAllPatterns(DType dtype, unsigned positivePatterns) {
  int size = static_cast<int>(dtypeSize(dtype));
  auto load = [&](uint16_t bits) {
    uint8_t bytes[2];
    std::memcpy(bytes, &bits, 2);
    return loadElement(bytes, dtype);
  };
  unsigned signBit = 1u << (size * 8 - 1);
  for (unsigned bits = 0; bits < positivePatterns; ++bits) {
    double value = load(bits);
    ASSERT_TRUE(std::isfinite(value));
    ASSERT_EQ(stored(dtype, value), bits);
    ASSERT_EQ(stored(dtype, -value), bits | signBit);
    if (bits + 1 == positivePatterns)
      break;
    double next = load(bits + 1), middle = (value + next) / 2;
    ASSERT_LT(value, next);
    ASSERT_EQ(stored(dtype, middle), bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(stored(dtype, std::nextafter(middle, kInf)), bits + 1);
    ASSERT_EQ(stored(dtype, std::nextafter(middle, 0)), bits);
  }
}

TEST(HostTensor, EveryPatternRoundTrips) {
  checkAllPatterns(DType::F16, 0x7C00);
  checkAllPatterns(DType::BF16, 0x7F80);
  checkAllPatterns(DType::F8E4M3, 0x7F);
  checkAllPatterns(DType::F8E5M2, 0x7C);
}

TEST(HostTensor, Overflow) {
  EXPECT_EQ(roundTrip(DType::F16, 65519), 65504);
  EXPECT_EQ(roundTrip(DType::F16, 65520), kInf);
  EXPECT_EQ(roundTrip(DType::F16, 1e300), kInf);
  EXPECT_EQ(roundTrip(DType::BF16, -1e300), -kInf);
  EXPECT_EQ(roundTrip(DType::F8E4M3, 1e9), 448);
  EXPECT_EQ(roundTrip(DType::F8E4M3, 460), 448);
  EXPECT_EQ(roundTrip(DType::F8E5M2, -1e9), -57344);
  EXPECT_EQ(roundTrip(DType::F8E5M2, kInf), kInf);
  EXPECT_TRUE(std::isnan(roundTrip(DType::F8E4M3, kInf)));
}

TEST(HostTensor, NaNAndSignedZeroSurvive) {
  for (DType dtype :
       {DType::F16, DType::BF16, DType::F32, DType::F64, DType::F8E4M3, DType::F8E5M2}) {
    EXPECT_TRUE(std::isnan(roundTrip(dtype, kNaN))) << dtypeName(dtype);
    EXPECT_TRUE(std::signbit(roundTrip(dtype, -0.0))) << dtypeName(dtype);
  }
}

TEST(HostTensor, RoundsOnceFromF64) {
  // Just above the middle of two f16 values by less than an f32 can say: via f32 it would tie.
  double value = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(roundTrip(DType::F16, value), 1.0 + std::ldexp(1.0, -10));
}

TEST(HostTensor, IntegersSaturate) {
  EXPECT_EQ(roundTrip(DType::I32, 1e12), 2147483647.0);
  EXPECT_EQ(roundTrip(DType::I32, -1e12), -2147483648.0);
  EXPECT_EQ(roundTrip(DType::I32, kNaN), 0);
  EXPECT_EQ(roundTrip(DType::I64, 1e30), 9223372036854775807.0);
}

TEST(HostTensor, NamesRoundTrip) {
  DType dtype;
  for (const char *name : {"f16", "bf16", "f32", "f64", "i32", "i64", "bool", "f8e4m3", "f8e5m2"}) {
    ASSERT_TRUE(parseDType(name, dtype)) << name;
    EXPECT_STREQ(dtypeName(dtype), name);
  }
  EXPECT_FALSE(parseDType("float16", dtype));
}

TEST(HostTensor, LayoutsAndStrides) {
  HostTensor bhsd = HostTensor::empty(DType::F32, {2, 3, 5, 4});
  HostTensor bshd = HostTensor::emptyBSHD(DType::F32, {2, 3, 5, 4});
  EXPECT_EQ(bhsd.strides, (std::vector<int64_t>{60, 20, 4, 1}));
  EXPECT_EQ(bshd.strides, (std::vector<int64_t>{60, 4, 12, 1}));
  EXPECT_EQ(bshd.numElements(), 120);
  bshd.set({1, 2, 3, 1}, 7.5);
  EXPECT_EQ(bshd.get({1, 2, 3, 1}), 7.5);
  EXPECT_EQ(loadElement(bshd.data() + 4 * (60 + 8 + 36 + 1), DType::F32), 7.5);
  // A broadcast dimension has stride 0.
  HostTensor row = bshd;
  row.strides[2] = 0;
  row.set({0, 0, 4, 0}, 3);
  EXPECT_EQ(row.get({0, 0, 1, 0}), 3);
}
