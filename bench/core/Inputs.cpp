// The generator and the plain triple loop.
#include "Inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attnc::bench {

static std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

float inputValue(std::uint32_t seed, InputTensor tensor, std::uint64_t index) {
  const std::uint32_t h =
      mix(std::uint32_t(index) ^ mix(std::uint32_t(index >> 32) + seed * 0x9e3779b9u +
                                     std::uint32_t(tensor) * 0x85ebca77u));
  const int sum = int(h & 255u) + int(h >> 8 & 255u) + int(h >> 16 & 255u) + int(h >> 24) - 510;
  return float(sum) * 0.006765899f;
}

std::uint16_t halfBits(float value, const std::string &dtype) {
  std::uint32_t b;
  std::memcpy(&b, &value, 4);
  if (dtype == "bf16")
    return std::uint16_t((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
  // fp16, for the range inputs have: no overflow, subnormals below 2^-14.
  const std::uint16_t sign = std::uint16_t(b >> 16 & 0x8000u);
  const float magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [0.5, 1)
  const int unit = std::max(exponent - 11, -24);
  const double scaled = std::nearbyint(std::ldexp(double(magnitude), -unit));
  const auto mantissa = std::uint32_t(scaled);
  if (unit == -24)
    return std::uint16_t(sign | mantissa);
  // A mantissa of 2048 carries into the exponent by itself.
  return std::uint16_t(sign | ((std::uint32_t(unit + 25) << 10) + mantissa - 1024u));
}

float roundToDtype(float value, const std::string &dtype) {
  if (dtype == "fp32")
    return value;
  const std::uint32_t bits = halfBits(value, dtype);
  if (dtype == "bf16") {
    const std::uint32_t wide = bits << 16;
    float out;
    std::memcpy(&out, &wide, 4);
    return out;
  }
  const int exponent = int(bits >> 10 & 31u);
  const double mantissa = bits & 1023u;
  const double out =
      exponent ? std::ldexp(1024.0 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  return float(bits & 0x8000u ? -out : out);
}

static double alibiSlope(std::int64_t h, std::int64_t heads) {
  std::int64_t n = 1;
  while (n * 2 <= heads)
    n *= 2;
  return h < n ? std::exp2(-8.0 * double(h + 1) / double(n))
               : std::exp2(-4.0 * double(2 * (h - n) + 1) / double(n));
}

std::vector<double> cpuAttention(const Config &c, std::uint32_t seed) {
  const Variant variant = *c.parsedVariant();
  const std::int64_t lenQ = c.lenQ(), d = c.headDim;
  const auto at = [&](InputTensor tensor, std::int64_t index) {
    return double(roundToDtype(inputValue(seed, tensor, std::uint64_t(index)), c.dtype));
  };
  std::vector<double> out(std::size_t(c.qElements()));
  std::vector<double> scores(std::size_t(c.n));
  const double minusInfinity = -std::numeric_limits<double>::infinity();
  for (std::int64_t row = 0; row < c.batch * c.hq * lenQ; ++row) {
    const std::int64_t qi = row % lenQ, h = row / lenQ % c.hq, b = row / lenQ / c.hq;
    const std::int64_t kvHead = b * c.hkv + h / (c.hq / c.hkv);
    const std::int64_t qPos = qi + c.n - lenQ;
    double top = minusInfinity, sum = 0;
    for (std::int64_t k = 0; k < c.n; ++k) {
      double s = 0;
      for (std::int64_t i = 0; i < d; ++i)
        s += at(InputTensor::Q, row * d + i) * at(InputTensor::K, (kvHead * c.n + k) * d + i);
      s /= std::sqrt(double(d));
      const auto value = std::int64_t(variant.value);
      if (variant.kind == Variant::Kind::Softcap)
        s = variant.value * std::tanh(s / variant.value);
      if (variant.kind == Variant::Kind::Alibi)
        s -= alibiSlope(h, c.hq) * double(qPos - k);
      if ((c.causal && k > qPos) || (variant.kind == Variant::Kind::Window && qPos - k >= value) ||
          (variant.kind == Variant::Kind::Document && qPos / value != k / value))
        s = minusInfinity;
      scores[std::size_t(k)] = s;
      top = std::max(top, s);
    }
    for (std::int64_t k = 0; k < c.n; ++k) {
      const double s = scores[std::size_t(k)];
      if (s == minusInfinity)
        continue;
      const double p = std::exp(s - top);
      sum += p;
      for (std::int64_t i = 0; i < d; ++i)
        out[std::size_t(row * d + i)] += p * at(InputTensor::V, (kvHead * c.n + k) * d + i);
    }
    for (std::int64_t i = 0; i < d; ++i)
      out[std::size_t(row * d + i)] = sum > 0 ? out[std::size_t(row * d + i)] / sum : 0;
  }
  return out;
}

} // namespace attnc::bench
