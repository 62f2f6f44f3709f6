// Host tensors: element conversions, shapes and strides.
#include "attnc/Support/HostTensor.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace attnc;

namespace {

struct DTypeInfo {
  DType dtype;
  const char *name;
  int64_t size;
};

constexpr DTypeInfo kDTypes[] = {
    {DType::F16, "f16", 2},   {DType::BF16, "bf16", 2},     {DType::F32, "f32", 4},
    {DType::F64, "f64", 8},   {DType::I32, "i32", 4},       {DType::I64, "i64", 8},
    {DType::Bool, "bool", 1}, {DType::F8E4M3, "f8e4m3", 1}, {DType::F8E5M2, "f8e5m2", 1},
};

/// A binary format of `exponent` + `mantissa` bits whose stored values above `maxFinite` are no
/// finite numbers. `overflow` and `infinity` are what a too large finite value and ∞ become.
struct SmallFormat {
  int exponent, mantissa;
  uint32_t maxFinite, overflow, infinity, nan;

  int bias() const { return (1 << (exponent - 1)) - 1; }
  int bits() const { return exponent + mantissa; }
};

constexpr SmallFormat kF16{5, 10, 0x7BFF, 0x7C00, 0x7C00, 0x7E00};
constexpr SmallFormat kBF16{8, 7, 0x7F7F, 0x7F80, 0x7F80, 0x7FC0};
constexpr SmallFormat kF8E4M3{4, 3, 0x7E, 0x7E, 0x7F, 0x7F};
constexpr SmallFormat kF8E5M2{5, 2, 0x7B, 0x7B, 0x7C, 0x7F};

} // namespace

/// Rounds straight from f64, once: going through f32 would round twice.
static uint32_t encode(double value, const SmallFormat &format) {
  uint32_t sign = std::signbit(value) ? 1u << format.bits() : 0u;
  if (std::isnan(value))
    return sign | format.nan;
  if (std::isinf(value))
    return sign | format.infinity;
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  // frexp's mantissa is in [0.5, 1); subnormals all share the least exponent.
  exponent = std::max(exponent - 1, 1 - format.bias());
  // Scaling by a power of two is exact; nearbyint rounds to nearest even in the default mode.
  double mantissa = std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent));
  if (exponent + format.bias() >= (1 << format.exponent))
    return sign | format.overflow;
  // Adding (not or-ing) the mantissa carries into the exponent when rounding overflows it, and
  // gives subnormals their zero exponent.
  uint32_t stored = (static_cast<uint32_t>(exponent + format.bias() - 1) << format.mantissa) +
                    static_cast<uint32_t>(mantissa);
  return sign | (stored > format.maxFinite ? format.overflow : stored);
}

static double decode(uint32_t stored, const SmallFormat &format) {
  bool negative = stored >> format.bits() & 1;
  uint32_t magnitude = stored & ((1u << format.bits()) - 1);
  double value;
  if (magnitude > format.maxFinite) {
    bool infinite = magnitude == format.infinity && format.infinity != format.nan;
    value = infinite ? std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::quiet_NaN();
  } else {
    int exponent = static_cast<int>(magnitude >> format.mantissa);
    uint32_t mantissa = magnitude & ((1u << format.mantissa) - 1);
    if (exponent)
      mantissa |= 1u << format.mantissa;
    value = std::ldexp(static_cast<double>(mantissa),
                       std::max(exponent, 1) - format.bias() - format.mantissa);
  }
  return negative ? -value : value;
}

template <typename T> static T loadAs(const uint8_t *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T> static void storeAs(uint8_t *address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

template <typename T> static T roundToInteger(double value) {
  if (std::isnan(value))
    return 0;
  double rounded = std::nearbyint(value);
  // 2^63 is not an int64, so compare with the limits as powers of two.
  double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (rounded >= limit)
    return std::numeric_limits<T>::max();
  if (rounded < -limit)
    return std::numeric_limits<T>::min();
  return static_cast<T>(rounded);
}

const char *attnc::dtypeName(DType dtype) {
  for (const DTypeInfo &info : kDTypes)
    if (info.dtype == dtype)
      return info.name;
  assert(false && "unknown dtype");
  return "?";
}

bool attnc::parseDType(const std::string &name, DType &dtype) {
  for (const DTypeInfo &info : kDTypes)
    if (name == info.name) {
      dtype = info.dtype;
      return true;
    }
  return false;
}

int64_t attnc::dtypeSize(DType dtype) {
  for (const DTypeInfo &info : kDTypes)
    if (info.dtype == dtype)
      return info.size;
  assert(false && "unknown dtype");
  return 1;
}

double attnc::loadElement(const uint8_t *address, DType dtype) {
  switch (dtype) {
  case DType::F16:
    return decode(loadAs<uint16_t>(address), kF16);
  case DType::BF16: {
    // BF16 is the upper half of an f32.
    uint32_t bits = static_cast<uint32_t>(loadAs<uint16_t>(address)) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  case DType::F32:
    return loadAs<float>(address);
  case DType::F64:
    return loadAs<double>(address);
  case DType::I32:
    return loadAs<int32_t>(address);
  case DType::I64:
    return static_cast<double>(loadAs<int64_t>(address));
  case DType::Bool:
    return *address ? 1 : 0;
  case DType::F8E4M3:
    return decode(*address, kF8E4M3);
  case DType::F8E5M2:
    return decode(*address, kF8E5M2);
  }
  assert(false && "unknown dtype");
  return 0;
}

void attnc::storeElement(uint8_t *address, DType dtype, double value) {
  switch (dtype) {
  case DType::F16:
    return storeAs(address, static_cast<uint16_t>(encode(value, kF16)));
  case DType::BF16:
    return storeAs(address, static_cast<uint16_t>(encode(value, kBF16)));
  case DType::F32:
    return storeAs(address, static_cast<float>(value));
  case DType::F64:
    return storeAs(address, value);
  case DType::I32:
    return storeAs(address, roundToInteger<int32_t>(value));
  case DType::I64:
    return storeAs(address, roundToInteger<int64_t>(value));
  case DType::Bool:
    *address = value != 0;
    return;
  case DType::F8E4M3:
    *address = static_cast<uint8_t>(encode(value, kF8E4M3));
    return;
  case DType::F8E5M2:
    *address = static_cast<uint8_t>(encode(value, kF8E5M2));
    return;
  }
  assert(false && "unknown dtype");
}

HostTensor HostTensor::empty(DType dtype, std::vector<int64_t> shape) {
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.strides.resize(tensor.shape.size());
  int64_t stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    tensor.strides[d] = stride;
    stride *= tensor.shape[d];
  }
  tensor.storage = std::make_shared<std::vector<uint8_t>>(stride * dtypeSize(dtype));
  return tensor;
}

HostTensor HostTensor::emptyBSHD(DType dtype, std::vector<int64_t> shape) {
  assert(shape.size() == 4 && "a [batch, head, seq, dim] shape");
  HostTensor tensor = empty(dtype, std::move(shape));
  int64_t heads = tensor.shape[1], seq = tensor.shape[2], dim = tensor.shape[3];
  tensor.strides = {seq * heads * dim, dim, heads * dim, 1};
  return tensor;
}

int64_t HostTensor::numElements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Address of an element, in elements from the storage's start.
static int64_t elementOffset(const HostTensor &tensor, const std::vector<int64_t> &index) {
  assert(index.size() == tensor.shape.size() && "one index a dimension");
  int64_t position = tensor.offset;
  for (size_t d = 0; d < index.size(); ++d) {
    assert(index[d] >= 0 && index[d] < tensor.shape[d] && "index out of bounds");
    position += index[d] * tensor.strides[d];
  }
  return position;
}

double HostTensor::get(const std::vector<int64_t> &index) const {
  return loadElement(storage->data() + elementOffset(*this, index) * dtypeSize(dtype), dtype);
}

void HostTensor::set(const std::vector<int64_t> &index, double value) {
  storeElement(storage->data() + elementOffset(*this, index) * dtypeSize(dtype), dtype, value);
}
