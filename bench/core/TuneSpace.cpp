// Combinations of values.
#include "TuneSpace.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace attnc::bench {

Result<TuneSpace> parseTuneSpace(const std::string &text) {
  const auto wrong = [&](const std::string &part) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("--space {}: '{}' is not FIELD=VALUE,VALUE…; fields are separated by "
                              "';', as in block_n=64,80;stages=2,3",
                              text, part));
  };
  TuneSpace space;
  std::istringstream fields(text);
  for (std::string field; std::getline(fields, field, ';');) {
    const std::size_t equals = field.find('=');
    if (equals == std::string::npos || equals == 0)
      return wrong(field);
    std::vector<std::int64_t> values;
    std::istringstream list(field.substr(equals + 1));
    for (std::string value; std::getline(list, value, ',');) {
      if (value.empty() || value.size() > 6 ||
          value.find_first_not_of("0123456789") != std::string::npos)
        return wrong(field);
      values.push_back(std::stoll(value));
    }
    if (values.empty())
      return wrong(field);
    space.emplace_back(field.substr(0, equals), std::move(values));
  }
  if (space.empty())
    return wrong(text);
  return space;
}

std::vector<TuneSpace> defaultTuneSpaces(const std::string &target, bool decode,
                                         const std::map<std::string, std::int64_t> &chosen) {
  if (target == "host")
    return {{{"block_m",
              decode ? std::vector<std::int64_t>{16} : std::vector<std::int64_t>{16, 32, 64, 128}},
             {"block_n", {16, 32, 64, 128, 256}}}};
  if (decode)
    return {{{"block_n", {16, 32, 64, 128}}, {"stages", {2, 3, 4}}, {"q_in_registers", {0, 1}}}};
  std::vector<TuneSpace> spaces;
  const auto specialized = chosen.find("warp_specialized");
  if (specialized != chosen.end() && specialized->second)
    spaces.push_back({{"warp_specialized", {1}},
                      {"block_n", {48, 64, 80, 96, 112, 128, 144, 160, 176}},
                      {"stages", {2, 3, 4}},
                      {"persistent", {0, 1}}});
  // The rows of a tile by warps: sixteen or thirty-two a warp.
  for (const auto &[rows, warps] :
       {std::pair<std::int64_t, std::int64_t>{64, 4}, {128, 4}, {128, 8}})
    spaces.push_back({{"warp_specialized", {0}},
                      {"block_m", {rows}},
                      {"warps", {warps}},
                      {"block_n", {32, 64, 128}},
                      {"stages", {2, 3}},
                      {"q_in_registers", {0, 1}}});
  return spaces;
}

std::vector<std::string> tuneCandidates(const std::vector<TuneSpace> &spaces,
                                        const std::map<std::string, std::int64_t> &chosen) {
  std::vector<std::string> out;
  for (const TuneSpace &space : spaces) {
    std::vector<std::size_t> at(space.size(), 0);
    for (bool more = true; more;) {
      std::string text;
      bool same = true;
      for (std::size_t i = 0; i < space.size(); ++i) {
        const auto &[field, values] = space[i];
        text += fmt::format("{}{}={}", i ? "," : "", field, values[at[i]]);
        const auto own = chosen.find(field);
        same = same && own != chosen.end() && own->second == values[at[i]];
      }
      if (!same && std::find(out.begin(), out.end(), text) == out.end())
        out.push_back(text);
      more = false;
      for (std::size_t i = space.size(); i-- > 0 && !more;) {
        more = ++at[i] < space[i].second.size();
        if (!more)
          at[i] = 0;
      }
    }
  }
  return out;
}

} // namespace attnc::bench
