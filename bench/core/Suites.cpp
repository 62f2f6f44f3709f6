// The built-in suites as text in the same form that users write, and the reader of that form.
#include "Suites.h"

#include "attnc/Runtime/FileIo.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

namespace attnc::bench {

namespace {

struct Builtin {
  const char *name, *description, *text;
};

// seed-*: batches, lengths and head counts are those of the published portability study.
const Builtin builtins[] = {
    {"smoke", "a few small cells of each kind; seconds",
     R"(bench: 1
name: smoke
defaults: {hq: 8, hkv: 2, head_dim: 128, dtype: bf16, launch: eager, cache: cold}
cells:
  - {regime: prefill, batch: 1, N: [128, 500], causal: [true, false]}
  - {regime: prefill, batch: 2, N: 256, causal: true, launch: graph, cache: warm}
  - {regime: prefill, batch: 1, N: 256, causal: true, head_dim: 64, hkv: 8}
  - {regime: decode, batch: 2, N: [512, 777], launch: [eager, graph]}
)"},
    {"seed-prefill", "prefill of the portability study: B 1, 4, 16 x N 256 to 8192",
     R"(bench: 1
name: seed-prefill
defaults: {regime: prefill, hq: 32, hkv: 32, head_dim: 128, dtype: bf16}
cells:
  - {launch: [eager, graph], cache: [warm, cold], causal: [true, false], batch: [1, 4, 16], N: [256, 512, 1024, 2048, 4096, 8192]}
)"},
    {"seed-decode",
     "decode of the portability study: B 1, 8, 32, 64 x N 512 to 16384, 8 and 32 KV heads",
     R"(bench: 1
name: seed-decode
defaults: {regime: decode, hq: 32, head_dim: 128, dtype: bf16}
cells:
  - {launch: [eager, graph], cache: [warm, cold], hkv: [8, 32], batch: [1, 8, 32, 64], N: [512, 1024, 2048, 4096, 8192, 16384]}
)"},
    {"variants", "masks and scores: window, softcap, ALiBi, documents",
     R"(bench: 1
name: variants
defaults: {regime: prefill, hq: 32, hkv: 32, head_dim: 128, dtype: bf16, causal: true, launch: graph, cache: cold}
cells:
  - {batch: 4, N: [1024, 4096], variant: [null, window-1024, softcap-30, alibi, document-700]}
)"},
    {"page-size", "paged decode by page size, and contiguous beside it",
     R"(bench: 1
name: page-size
defaults: {regime: decode, hq: 32, hkv: 8, head_dim: 128, dtype: bf16, launch: graph, cache: cold}
cells:
  - {batch: [1, 32], N: [2048, 16384], page_size: [null, 1, 16, 64, 128, 256]}
)"},
};

Json scalar(const YAML::Node &node) {
  if (node.IsNull())
    return nullptr;
  const std::string text = node.Scalar();
  // A quoted scalar is text whatever it looks like.
  if (node.Tag() == "!")
    return text;
  if (text == "null" || text == "~")
    return nullptr;
  if (bool b; YAML::convert<bool>::decode(node, b) && (text[0] == 't' || text[0] == 'f'))
    return b;
  if (long long i; YAML::convert<long long>::decode(node, i))
    return i;
  return text;
}

std::string at(const std::string &source, const YAML::Node &node) {
  return fmt::format("{}:{}:{}", source, node.Mark().line + 1, node.Mark().column + 1);
}

Status wrong(const std::string &where, const std::string &text) {
  return {StatusCode::InvalidArgument, where + ": " + text};
}

using Axis = std::pair<std::string, std::vector<Json>>;

/// One map of the file as axes; later maps override earlier ones key by key.
Status addAxes(const YAML::Node &map, const std::string &source, std::vector<Axis> &axes) {
  if (!map.IsMap())
    return wrong(at(source, map), "found no map; allowed {key: value or list, ...}");
  for (const auto &entry : map) {
    const std::string key = entry.first.Scalar();
    std::vector<Json> values;
    if (entry.second.IsSequence())
      for (const YAML::Node &v : entry.second) {
        if (!v.IsScalar() && !v.IsNull())
          return wrong(at(source, v), key + ": a list holds plain values");
        values.push_back(scalar(v));
      }
    else if (entry.second.IsScalar() || entry.second.IsNull())
      values.push_back(scalar(entry.second));
    if (values.empty())
      return wrong(at(source, entry.second), key + ": found no value");
    bool found = false;
    for (Axis &axis : axes)
      if (axis.first == key) {
        axis.second = values;
        found = true;
      }
    if (!found)
      axes.emplace_back(key, std::move(values));
  }
  return {};
}

Result<Suite> parse(const std::string &text, const std::string &source) {
  const YAML::Node root = YAML::Load(text);
  if (!root.IsMap())
    return wrong(source, "found no map; a suite has bench, name, defaults and cells");
  for (const auto &entry : root) {
    const std::string key = entry.first.Scalar();
    if (key != "bench" && key != "name" && key != "description" && key != "defaults" &&
        key != "cells")
      return wrong(at(source, entry.first),
                   fmt::format("unknown key '{}'; allowed: bench, name, description, defaults, "
                               "cells",
                               key));
  }
  if (!root["bench"] || root["bench"].Scalar() != "1")
    return wrong(source, "missing 'bench: 1', the version of the format");
  if (!root["cells"] || !root["cells"].IsSequence() || root["cells"].size() == 0)
    return wrong(source, "missing 'cells', a list of maps");
  Suite suite;
  suite.name = root["name"] ? root["name"].Scalar() : source;
  if (root["description"])
    suite.description = root["description"].Scalar();
  for (const YAML::Node &entry : root["cells"]) {
    // The cell's own keys come first, so that their lists run slowest in the order written.
    std::vector<Axis> axes;
    if (Status s = addAxes(entry, source, axes); !s.ok())
      return s;
    std::vector<Axis> defaults;
    if (root["defaults"])
      if (Status s = addAxes(root["defaults"], source, defaults); !s.ok())
        return s;
    for (Axis &d : defaults) {
      bool own = false;
      for (const Axis &axis : axes)
        own |= axis.first == d.first;
      if (!own)
        axes.push_back(d);
    }
    std::size_t total = 1;
    for (const Axis &axis : axes)
      if ((total *= axis.second.size()) > 100000)
        return wrong(at(source, entry), "more than 100000 cells");
    for (std::size_t i = 0; i < total; ++i) {
      Json object = Json::object();
      std::size_t rest = i;
      for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        object[axis->first] = axis->second[rest % axis->second.size()];
        rest /= axis->second.size();
      }
      Result<Config> config = Config::fromJson(object);
      if (!config.ok())
        return wrong(at(source, entry), config.status().message());
      suite.cells.push_back(*config);
    }
  }
  return suite;
}

} // namespace

Result<Suite> parseSuite(const std::string &text, const std::string &source) {
  try { // yaml-cpp reports by exceptions; they end here.
    return parse(text, source);
  } catch (const YAML::Exception &e) {
    return wrong(fmt::format("{}:{}:{}", source, e.mark.line + 1, e.mark.column + 1), e.msg);
  }
}

std::vector<std::pair<std::string, std::string>> builtinSuites() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Builtin &b : builtins)
    out.emplace_back(b.name, b.description);
  return out;
}

Result<Suite> findSuite(const std::string &nameOrPath) {
  std::string names;
  for (const Builtin &b : builtins) {
    if (nameOrPath == b.name) {
      Result<Suite> suite = parseSuite(b.text, b.name);
      if (suite.ok())
        suite->description = b.description;
      return suite;
    }
    names += (names.empty() ? "" : ", ") + std::string(b.name);
  }
  struct stat info;
  if (stat(nameOrPath.c_str(), &info))
    return Status(StatusCode::InvalidArgument,
                  fmt::format("no suite and no file '{}'; suites: {}; or a YAML or JSON file",
                              nameOrPath, names));
  Result<std::string> text = rt::readFile(nameOrPath, 16 << 20);
  if (!text.ok())
    return text.status();
  return parseSuite(*text, nameOrPath);
}

std::vector<std::size_t> shardCells(std::size_t count, int shard, int shards) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i)
    if (int(i % std::size_t(shards)) == shard)
      out.push_back(i);
  return out;
}

} // namespace attnc::bench
