// One configuration of the benchmark: what a cell is made of, its JSON form and its identity. Knows
// nothing of implementations, GPUs or files.
#ifndef ATTNC_BENCH_CONFIG_H
#define ATTNC_BENCH_CONFIG_H

#include "attnc/Runtime/Status.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace attnc::bench {

using Json = nlohmann::ordered_json;
using rt::Result;
using rt::Status;
using rt::StatusCode;

/// A score or mask variant, parsed from its name in a configuration.
struct Variant {
  enum class Kind : int { None = 0, Softcap = 1, Alibi = 2, Window = 3, Document = 4 };
  Kind kind = Kind::None;
  /// Softcap: the cap. Window: keys visible, the query's own included. Document: its length.
  double value = 0;
};

/// The fields and their meaning are those of the row schema (`config`).
struct Config {
  std::string regime = "prefill"; ///< "prefill": N queries against N keys; "decode": one query.
  std::int64_t batch = 1, n = 1, hq = 1, hkv = 1, headDim = 128;
  std::string dtype = "bf16"; ///< "bf16", "fp16" or "fp32"
  bool causal = false;
  std::string mode = "fwd";     ///< "fwd" or "fwd_bwd"
  std::string launch = "eager"; ///< "eager" or "graph"
  std::string cache = "cold";   ///< "cold" or "warm"
  std::optional<std::int64_t> pageSize;
  std::optional<std::string> variant;

  bool decode() const { return regime == "decode"; }
  std::int64_t lenQ() const { return decode() ? 1 : n; }
  std::int64_t elementBytes() const { return dtype == "fp32" ? 4 : 2; }
  /// Elements of one tensor.
  std::int64_t qElements() const { return batch * hq * lenQ() * headDim; }
  std::int64_t kvElements() const { return batch * hkv * n * headDim; }
  /// Bytes of q, k, v and o together.
  std::int64_t tensorBytes() const { return (2 * qElements() + 2 * kvElements()) * elementBytes(); }
  /// (query, key) pairs that the mask lets through in one head of one sequence, without a variant.
  double visiblePairs() const;

  /// The object of the row's `config`, keys in the schema's order.
  Json toJson() const;
  /// \returns InvalidArgument naming the key: unknown, missing, of the wrong type, not allowed.
  static Result<Config> fromJson(const Json &object);
  /// Checks values: positive sizes, hq a multiple of hkv, known names.
  Status validate() const;

  /// Two configurations are the same cell exactly when their keys are equal.
  std::string key() const { return toJson().dump(); }
  /// Short, for people: "decode B1 N8192 32/8 D128 bf16 graph cold".
  std::string label() const;

  /// \returns InvalidArgument listing the known variants.
  Result<Variant> parsedVariant() const;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_CONFIG_H
