// Overflow-checked 64-bit arithmetic. Sizes and offsets come from users and files.
#ifndef ATTNC_RUNTIME_LIB_CHECKEDMATH_H
#define ATTNC_RUNTIME_LIB_CHECKEDMATH_H

#include <cstdint>
#include <optional>

namespace attnc::rt {

inline std::optional<std::int64_t> checkedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

inline std::optional<std::int64_t> checkedSub(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_sub_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

inline std::optional<std::int64_t> checkedMul(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// Rounded towards plus infinity. \p b must be positive.
inline std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_CHECKEDMATH_H
