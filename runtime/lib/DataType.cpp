// One table of element types.
#include "attnc/Runtime/DataType.h"

namespace attnc::rt {
namespace {

struct Entry {
  DataType type;
  std::int64_t bytes;
  const char *name;
  const char *safetensors;
};

constexpr Entry table[] = {
    {DataType::BF16, 2, "bf16", "BF16"},
    {DataType::F16, 2, "f16", "F16"},
    {DataType::F32, 4, "f32", "F32"},
    {DataType::F64, 8, "f64", "F64"},
    {DataType::I32, 4, "i32", "I32"},
    {DataType::I64, 8, "i64", "I64"},
    {DataType::U8, 1, "u8", "U8"},
    {DataType::Bool, 1, "bool", "BOOL"},
    {DataType::F8E4M3, 1, "f8e4m3", "F8_E4M3"},
    {DataType::F8E5M2, 1, "f8e5m2", "F8_E5M2"},
};

struct Alias {
  const char *name;
  DataType type;
};

constexpr Alias aliases[] = {
    {"fp16", DataType::F16},    {"fp32", DataType::F32},        {"e4m3", DataType::F8E4M3},
    {"e5m2", DataType::F8E5M2}, {"fp8_e4m3", DataType::F8E4M3}, {"fp8_e5m2", DataType::F8E5M2},
};

} // namespace

std::int64_t byteSize(DataType type) {
  for (const Entry &entry : table)
    if (entry.type == type)
      return entry.bytes;
  return 0;
}

const char *dataTypeName(DataType type) {
  for (const Entry &entry : table)
    if (entry.type == type)
      return entry.name;
  return "unknown";
}

std::optional<DataType> parseDataType(std::string_view name) {
  for (const Entry &entry : table)
    if (name == entry.name)
      return entry.type;
  for (const Alias &alias : aliases)
    if (name == alias.name)
      return alias.type;
  return std::nullopt;
}

const char *safetensorsName(DataType type) {
  for (const Entry &entry : table)
    if (entry.type == type)
      return entry.safetensors;
  return "unknown";
}

std::optional<DataType> parseSafetensorsName(std::string_view name) {
  for (const Entry &entry : table)
    if (name == entry.safetensors)
      return entry.type;
  return std::nullopt;
}

} // namespace attnc::rt
