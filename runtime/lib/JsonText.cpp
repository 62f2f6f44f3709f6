// Strict JSON parsing on top of nlohmann-json, whose exceptions end here.
#include "JsonText.h"

#include "StatusFormat.h"

#include <set>
#include <stdexcept>
#include <vector>

namespace attnc::rt {

Result<Json> parseJson(std::string_view text, const std::string &what) {
  std::vector<std::set<std::string>> keys;
  auto callback = [&](int depth, Json::parse_event_t event, Json &parsed) {
    switch (event) {
    case Json::parse_event_t::object_start:
      if (depth >= maxJsonDepth)
        throw std::length_error(fmt::format("nesting is deeper than {} levels", maxJsonDepth));
      keys.emplace_back();
      break;
    case Json::parse_event_t::array_start:
      if (depth >= maxJsonDepth)
        throw std::length_error(fmt::format("nesting is deeper than {} levels", maxJsonDepth));
      break;
    case Json::parse_event_t::object_end:
      keys.pop_back();
      break;
    case Json::parse_event_t::key:
      if (!keys.back().insert(parsed.get<std::string>()).second)
        throw std::invalid_argument(
            fmt::format("key '{}' appears twice in one object", parsed.get<std::string>()));
      break;
    default:
      break;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), callback);
  } catch (const Json::parse_error &error) {
    return invalidArgument("{}: not valid JSON at byte {}: {}", what, error.byte, error.what());
  } catch (const std::exception &error) {
    return invalidArgument("{}: {}", what, error.what());
  }
}

std::string describeJson(const Json &value) {
  switch (value.type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "an array";
  case Json::value_t::string:
    return "a string";
  case Json::value_t::boolean:
    return "a boolean";
  case Json::value_t::number_integer:
  case Json::value_t::number_unsigned:
    return "an integer";
  case Json::value_t::number_float:
    return "a number with a fraction";
  default:
    return "something else";
  }
}

JsonFields::JsonFields(const Json &object, std::string path, Status &status)
    : value(object), path(std::move(path)), status(status) {
  if (status.ok() && !value.is_object())
    status = invalidArgument("{}: expected an object, found {}",
                             this->path.empty() ? "the document" : this->path, describeJson(value));
}

std::string JsonFields::pathOf(const std::string &key) const {
  return path.empty() ? key : path + "." + key;
}

void JsonFields::fail(const std::string &key, const std::string &message) {
  if (status.ok())
    status = invalidArgument("{}: {}", pathOf(key), message);
}

const Json *JsonFields::optional(const char *key) const {
  if (!value.is_object())
    return nullptr;
  auto it = value.find(key);
  return it == value.end() || it->is_null() ? nullptr : &*it;
}

const Json *JsonFields::required(const char *key, Json::value_t type, const char *typeName) {
  if (!status.ok())
    return nullptr;
  const Json *field = optional(key);
  if (!field) {
    fail(key, fmt::format("missing; expected {}", typeName));
    return nullptr;
  }
  if (field->type() != type) {
    fail(key, fmt::format("expected {}, found {}", typeName, describeJson(*field)));
    return nullptr;
  }
  return field;
}

std::string JsonFields::string(const char *key) {
  const Json *field = required(key, Json::value_t::string, "a string");
  return field ? field->get<std::string>() : std::string();
}

std::string JsonFields::stringOr(const char *key, std::string fallback) {
  return optional(key) ? string(key) : std::move(fallback);
}

std::int64_t JsonFields::integer(const char *key, std::int64_t min, std::int64_t max) {
  if (!status.ok())
    return min;
  const Json *field = optional(key);
  if (!field) {
    fail(key, "missing; expected an integer");
    return min;
  }
  if (!field->is_number_integer()) {
    fail(key, fmt::format("expected an integer, found {}", describeJson(*field)));
    return min;
  }
  const bool tooLarge =
      field->is_number_unsigned() &&
      field->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = tooLarge ? 0 : field->get<std::int64_t>();
  if (tooLarge || number < min || number > max) {
    fail(key, fmt::format("{} is out of range; allowed are {} to {}", field->dump(), min, max));
    return min;
  }
  return number;
}

std::int64_t JsonFields::integerOr(const char *key, std::int64_t fallback, std::int64_t min,
                                   std::int64_t max) {
  return optional(key) ? integer(key, min, max) : fallback;
}

bool JsonFields::booleanOr(const char *key, bool fallback) {
  if (!optional(key))
    return fallback;
  const Json *field = required(key, Json::value_t::boolean, "true or false");
  return field ? field->get<bool>() : fallback;
}

const Json *JsonFields::object(const char *key) {
  return required(key, Json::value_t::object, "an object");
}

const Json *JsonFields::array(const char *key) {
  return required(key, Json::value_t::array, "an array");
}

} // namespace attnc::rt
