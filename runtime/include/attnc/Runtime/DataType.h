// Element types that tensors, packages and tensor files may have. Names and sizes only: no
// arithmetic and no conversion between types.
#ifndef ATTNC_RUNTIME_DATATYPE_H
#define ATTNC_RUNTIME_DATATYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace attnc::rt {

/// The values are part of the C ABI (`attnc_dtype`): append only.
enum class DataType : std::int32_t {
  BF16 = 1,
  F16 = 2,
  F32 = 3,
  F64 = 4,
  I32 = 5,
  I64 = 6,
  U8 = 7,
  Bool = 8,
  F8E4M3 = 9,
  F8E5M2 = 10,
};

/// Bytes of one element; 0 for a value outside the enumeration (it may come over the C ABI).
std::int64_t byteSize(DataType type);

/// The name used in package manifests and messages: "bf16", "f16", "f32", "f64", "i32", "i64",
/// "u8", "bool", "f8e4m3", "f8e5m2".
const char *dataTypeName(DataType type);

/// Inverse of dataTypeName. Also takes the spellings "fp16", "fp32", "e4m3", "e5m2", "fp8_e4m3" and
/// "fp8_e5m2".
std::optional<DataType> parseDataType(std::string_view name);

/// The name in safetensors headers: "BF16", "F8_E4M3", …
const char *safetensorsName(DataType type);

/// Inverse of safetensorsName.
std::optional<DataType> parseSafetensorsName(std::string_view name);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_DATATYPE_H
