// A view of a tensor in memory somebody else owns: what callers hand to a plan.
#ifndef ATTNC_RUNTIME_TENSOR_H
#define ATTNC_RUNTIME_TENSOR_H

#include "attnc/Runtime/DataType.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace attnc::rt {

/// Plain data; copying is cheap and allocates nothing.
struct TensorView {
  static constexpr int maxRank = 6;

  /// Address on the device that runs the plan.
  std::uint64_t address = 0;
  DataType dtype = DataType::F32;
  int rank = 0;
  /// In the logical order [batch, head, seq, dim], whatever the memory order.
  std::array<std::int64_t, maxRank> shape = {};
  /// In elements. 0 repeats one element along a dimension (inputs only).
  std::array<std::int64_t, maxRank> strides = {};
  /// Bytes that may be read from `address` on, or 0 if the caller does not say. When given, a view
  /// that reaches beyond it is refused.
  std::uint64_t extentBytes = 0;

  TensorView() = default;
  /// A view with explicit strides.
  TensorView(std::uint64_t address, DataType dtype, std::initializer_list<std::int64_t> shape,
             std::initializer_list<std::int64_t> strides);
  /// A contiguous view, last dimension innermost.
  static TensorView contiguous(std::uint64_t address, DataType dtype,
                               std::initializer_list<std::int64_t> shape);
};

/// A tensor under the name the manifest gives it ("q", "lse", "arg.table", …).
struct TensorBinding {
  std::string_view name;
  TensorView tensor;
};

/// A scalar under its name ("scale", "arg.cap", …). Integers and floats are converted to what the
/// kernel takes; a float for an integer parameter, or an integer that does not fit, is refused.
struct ScalarBinding {
  ScalarBinding(std::string_view name, double value) : name(name), isFloat(true), real(value) {}
  ScalarBinding(std::string_view name, std::int64_t value)
      : name(name), isFloat(false), integer(value) {}
  ScalarBinding(std::string_view name, int value)
      : ScalarBinding(name, static_cast<std::int64_t>(value)) {}

  std::string_view name;
  bool isFloat = false;
  double real = 0;
  std::int64_t integer = 0;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_TENSOR_H
