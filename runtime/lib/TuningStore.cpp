// Finding the store and the entry in it.
#include "attnc/Runtime/TuningStore.h"

#include "JsonText.h"
#include "StatusFormat.h"
#include "attnc/Runtime/FileIo.h"

#include <filesystem>

namespace attnc::rt {

std::string tuningStorePath(const std::string &given, const EnvironmentLookup &environment) {
  std::string path = given;
  if (path.empty())
    path = environment("ATTNC_TUNING").value_or("");
  if (path == "none")
    return {};
  if (!path.empty())
    return path;
  if (const std::string data = environment("XDG_DATA_HOME").value_or(""); !data.empty())
    return data + "/attnc/tuning.jsonl";
  if (const std::string home = environment("HOME").value_or(""); !home.empty())
    return home + "/.local/share/attnc/tuning.jsonl";
  return {};
}

/// One line, or why it is none.
static Result<std::optional<TunedConfig>> readEntry(std::string_view line, const std::string &where,
                                                    const std::string &key,
                                                    const std::string &target) {
  Result<Json> parsed = parseJson(line, where);
  if (!parsed.ok())
    return parsed.status();
  if (!parsed->is_object())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: expected an object, got {}", where, describeJson(*parsed)));
  Status status;
  JsonFields fields(*parsed, "", status);
  fields.integer("tuning", 1, 1);
  TunedConfig entry;
  const std::string foundKey = fields.string("key"), foundTarget = fields.string("target");
  entry.config = fields.string("config");
  entry.device = fields.stringOr("device", "");
  entry.time = fields.stringOr("time", "");
  if (const Json *ratio = fields.optional("ratio"); ratio && ratio->is_number())
    entry.ratio = ratio->get<double>();
  entry.where = where;
  if (!status.ok())
    return Status(status.code(), where + ": " + status.message());
  if (foundKey != key || foundTarget != target)
    return std::optional<TunedConfig>();
  return std::optional<TunedConfig>(std::move(entry));
}

Result<std::optional<TunedConfig>> findTuned(const std::string &path, const std::string &key,
                                             const std::string &target,
                                             std::vector<std::string> &remarks) {
  std::optional<TunedConfig> found;
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error))
    return found;
  Result<std::string> text = readFile(path, std::uint64_t(64) << 20);
  if (!text.ok())
    return text.status();
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    std::size_t end = text->find('\n', begin);
    if (end == std::string::npos)
      end = text->size();
    const std::string_view line = std::string_view(*text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    Result<std::optional<TunedConfig>> entry =
        readEntry(line, fmt::format("{}:{}", path, number), key, target);
    if (!entry.ok())
      remarks.push_back(entry.status().message());
    else if (*entry)
      found = std::move(*entry);
  }
  return found;
}

} // namespace attnc::rt
