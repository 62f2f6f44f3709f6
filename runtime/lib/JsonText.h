// Strict JSON parsing for files from outside: bounded depth, no duplicate keys, valid UTF-8, errors
// as Status. Private, so that the JSON library is no part of the public interface.
#ifndef ATTNC_RUNTIME_LIB_JSONTEXT_H
#define ATTNC_RUNTIME_LIB_JSONTEXT_H

#include "attnc/Runtime/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace attnc::rt {

using Json = nlohmann::json;

/// Deepest nesting of arrays and objects that is accepted.
constexpr int maxJsonDepth = 32;

/// Parses one JSON document. \p what names it in messages. \returns InvalidArgument.
Result<Json> parseJson(std::string_view text, const std::string &what);

/// "an object", "a string", … for messages.
std::string describeJson(const Json &value);

/// Typed access to the fields of one object. The first failure is kept in `status` and later calls
/// return defaults, so that a reader is a list of fields followed by one check.
class JsonFields {
public:
  /// \p path is how messages name the object ("kernels[0]"); empty for the root.
  JsonFields(const Json &object, std::string path, Status &status);

  std::string string(const char *key);
  std::string stringOr(const char *key, std::string fallback);
  std::int64_t integer(const char *key, std::int64_t min, std::int64_t max);
  std::int64_t integerOr(const char *key, std::int64_t fallback, std::int64_t min,
                         std::int64_t max);
  bool booleanOr(const char *key, bool fallback);
  /// The object or array at \p key, or null after recording a failure.
  const Json *object(const char *key);
  const Json *array(const char *key);
  /// The value at \p key or null if it is missing or JSON null. Records nothing.
  const Json *optional(const char *key) const;

  /// "kernels[0].grid"
  std::string pathOf(const std::string &key) const;
  void fail(const std::string &key, const std::string &message);
  bool ok() const { return status.ok(); }

private:
  const Json *required(const char *key, Json::value_t type, const char *typeName);

  const Json &value;
  std::string path;
  Status &status;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_JSONTEXT_H
