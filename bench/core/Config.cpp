// Configurations to and from JSON, checked.
#include "Config.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>

namespace attnc::bench {

namespace {

constexpr std::array<const char *, 13> keys = {"regime",   "batch",     "N",      "hq",   "hkv",
                                               "head_dim", "dtype",     "causal", "mode", "launch",
                                               "cache",    "page_size", "variant"};

Status wrong(const std::string &text) { return {StatusCode::InvalidArgument, text}; }

Status oneOf(const char *name, const std::string &found,
             std::initializer_list<const char *> allowed) {
  std::string list;
  for (const char *a : allowed) {
    if (found == a)
      return {};
    list += (list.empty() ? "" : ", ") + std::string(a);
  }
  return wrong(fmt::format("{}: found '{}', allowed {}", name, found, list));
}

} // namespace

double Config::visiblePairs() const {
  if (decode())
    return double(n);
  return causal ? 0.5 * double(n) * double(n + 1) : double(n) * double(n);
}

Json Config::toJson() const {
  Json j;
  j["regime"] = regime;
  j["batch"] = batch;
  j["N"] = n;
  j["hq"] = hq;
  j["hkv"] = hkv;
  j["head_dim"] = headDim;
  j["dtype"] = dtype;
  j["causal"] = causal;
  j["mode"] = mode;
  j["launch"] = launch;
  j["cache"] = cache;
  j["page_size"] = pageSize ? Json(*pageSize) : Json(nullptr);
  j["variant"] = variant ? Json(*variant) : Json(nullptr);
  return j;
}

Result<Config> Config::fromJson(const Json &object) {
  if (!object.is_object())
    return wrong("a configuration is a map of keys to values");
  for (const auto &item : object.items())
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
      std::string list;
      for (const char *k : keys)
        list += (list.empty() ? "" : ", ") + std::string(k);
      return wrong(fmt::format("unknown key '{}'; allowed: {}", item.key(), list));
    }
  Config c;
  for (const char *required : {"regime", "batch", "N", "hq", "head_dim"})
    if (!object.contains(required))
      return wrong(fmt::format("missing key '{}'", required));
  std::string bad;
  const auto text = [&](const char *key, std::string &into) {
    if (!object.contains(key))
      return;
    if (object[key].is_string())
      into = object[key].get<std::string>();
    else
      bad = fmt::format("{}: found {}, allowed text", key, object[key].dump());
  };
  const auto number = [&](const char *key, std::int64_t &into) {
    if (!object.contains(key))
      return;
    if (object[key].is_number_integer())
      into = object[key].get<std::int64_t>();
    else
      bad = fmt::format("{}: found {}, allowed an integer", key, object[key].dump());
  };
  text("regime", c.regime);
  number("batch", c.batch);
  number("N", c.n);
  number("hq", c.hq);
  c.hkv = c.hq;
  number("hkv", c.hkv);
  number("head_dim", c.headDim);
  text("dtype", c.dtype);
  text("mode", c.mode);
  text("launch", c.launch);
  text("cache", c.cache);
  if (object.contains("causal")) {
    if (object["causal"].is_boolean())
      c.causal = object["causal"].get<bool>();
    else
      bad = fmt::format("causal: found {}, allowed true or false", object["causal"].dump());
  }
  if (object.contains("page_size") && !object["page_size"].is_null()) {
    c.pageSize.emplace();
    number("page_size", *c.pageSize);
  }
  if (object.contains("variant") && !object["variant"].is_null()) {
    c.variant.emplace();
    text("variant", *c.variant);
  }
  if (!bad.empty())
    return wrong(bad);
  if (Status s = c.validate(); !s.ok())
    return s;
  return c;
}

Status Config::validate() const {
  for (Status s :
       {oneOf("regime", regime, {"prefill", "decode"}),
        oneOf("dtype", dtype, {"bf16", "fp16", "fp32"}), oneOf("mode", mode, {"fwd", "fwd_bwd"}),
        oneOf("launch", launch, {"eager", "graph"}), oneOf("cache", cache, {"cold", "warm"})})
    if (!s.ok())
      return s;
  const std::pair<const char *, std::int64_t> sizes[] = {{"batch", batch},
                                                         {"N", n},
                                                         {"hq", hq},
                                                         {"hkv", hkv},
                                                         {"head_dim", headDim},
                                                         {"page_size", pageSize.value_or(1)}};
  for (const auto &[name, value] : sizes)
    if (value < 1 || value > (std::int64_t(1) << 31))
      return wrong(fmt::format("{}: found {}, allowed 1 to 2^31", name, value));
  if (hq % hkv)
    return wrong(fmt::format("hq {} is not a multiple of hkv {}", hq, hkv));
  return parsedVariant().status();
}

Result<Variant> Config::parsedVariant() const {
  Variant v;
  if (!variant)
    return v;
  const auto numbered = [&](const char *prefix, Variant::Kind kind) {
    const std::string p = std::string(prefix) + "-";
    if (variant->rfind(p, 0) != 0)
      return false;
    char *end = nullptr;
    const double value = std::strtod(variant->c_str() + p.size(), &end);
    if (*end || end == variant->c_str() + p.size() || !(value > 0 && value < 1e9))
      return false;
    v = {kind, value};
    return true;
  };
  if (*variant == "alibi")
    v.kind = Variant::Kind::Alibi;
  else if (*variant == "softcap")
    v = {Variant::Kind::Softcap, 30};
  else if (!numbered("softcap", Variant::Kind::Softcap) &&
           !numbered("window", Variant::Kind::Window) &&
           !numbered("document", Variant::Kind::Document))
    return wrong(fmt::format("variant: found '{}', allowed alibi, softcap, softcap-CAP, "
                             "window-TOKENS, document-TOKENS",
                             *variant));
  return v;
}

std::string Config::label() const {
  std::string s = fmt::format("{} B{} N{} {}/{} D{} {}", regime, batch, n, hq, hkv, headDim, dtype);
  if (causal)
    s += " causal";
  if (mode != "fwd")
    s += " " + mode;
  if (pageSize)
    s += fmt::format(" page {}", *pageSize);
  if (variant)
    s += " " + *variant;
  return s + " " + launch + " " + cache;
}

} // namespace attnc::bench
