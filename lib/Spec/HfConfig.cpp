// Hugging Face config.json to Spec: which fields of which model say how its attention works.
// Weights, tokenizers and everything but attention are not read.
#include "SpecVariants.h"
#include "YamlTree.h"
#include "attnc/Support/NearestName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace llvm;

namespace attnc {
namespace {

constexpr size_t kMaxConfigBytes = 4 * 1024 * 1024;
constexpr unsigned kMaxJsonDepth = 256;

class HfReader {
public:
  HfReader(SourceMgr &sources, const HfOptions &options, std::vector<std::string> &notes)
      : sources(sources), options(options), notes(notes),
        text(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer()) {}

  std::optional<Spec> run();

private:
  using Handler = bool (HfReader::*)();
  struct Model {
    StringLiteral type;
    Handler handler;
  };
  static ArrayRef<Model> models();

  bool error(StringRef key, const Twine &message) {
    size_t at = key.empty() ? StringRef::npos : text.find(("\"" + key + "\"").str());
    if (at == StringRef::npos)
      at = text.find_first_not_of(" \n\r\t");
    if (at == StringRef::npos)
      at = 0;
    sources.PrintMessage(SMLoc::getFromPointer(text.data() + at), SourceMgr::DK_Error, message);
    return false;
  }
  void note(const std::string &message) { notes.push_back(message); }

  /// The field as an integer from 1 to 2^20; `fallback` when it is absent or null, -1 for
  /// "required".
  bool readInt(const json::Object &object, StringRef key, int64_t fallback, int64_t &out);
  bool readFloat(const json::Object &object, StringRef key, double &out, bool &present);
  static bool isTrue(const json::Object &object, StringRef key, bool fallback) {
    return object.getBoolean(key).value_or(fallback);
  }

  bool readHeads(StringRef headsKey, StringRef hiddenKey, int64_t defaultDim = 0);
  bool readWindow();
  void addCausal() {
    SpecMask mask;
    mask.kind = SpecMask::Kind::Causal;
    spec.masks.push_back(mask);
  }
  bool decodeNeedsDecoder(const char *model);
  bool addExpression(const std::string &score);
  void readDType();
  void readName(StringRef modelType);

  bool llama();
  bool qwen2();
  bool gemma2();
  bool gptOss();
  bool bloom();
  bool mpt();
  bool bert();
  bool t5();
  bool deepseek();
  bool paligemma();

  SourceMgr &sources;
  const HfOptions &options;
  std::vector<std::string> &notes;
  StringRef text;
  const json::Object *config = nullptr;
  Spec spec;
};

ArrayRef<HfReader::Model> HfReader::models() {
  static const Model table[] = {{"llama", &HfReader::llama},
                                {"mistral", &HfReader::llama},
                                {"mixtral", &HfReader::llama},
                                {"phi3", &HfReader::llama},
                                {"gemma", &HfReader::llama},
                                {"qwen2", &HfReader::qwen2},
                                {"qwen3", &HfReader::qwen2},
                                {"gemma2", &HfReader::gemma2},
                                {"gpt_oss", &HfReader::gptOss},
                                {"bloom", &HfReader::bloom},
                                {"mpt", &HfReader::mpt},
                                {"bert", &HfReader::bert},
                                {"roberta", &HfReader::bert},
                                {"t5", &HfReader::t5},
                                {"deepseek_v2", &HfReader::deepseek},
                                {"deepseek_v3", &HfReader::deepseek},
                                {"paligemma", &HfReader::paligemma}};
  return table;
}

bool HfReader::readInt(const json::Object &object, StringRef key, int64_t fallback, int64_t &out) {
  const json::Value *value = object.get(key);
  if (!value || value->kind() == json::Value::Null) {
    if (fallback < 0)
      return error("", "the configuration lacks '" + key + "', which this model type needs");
    out = fallback;
    return true;
  }
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number < 1 || *number > (1 << 20))
    return error(key, "'" + key + "' must be an integer from 1 to 1048576");
  out = *number;
  return true;
}

bool HfReader::readFloat(const json::Object &object, StringRef key, double &out, bool &present) {
  const json::Value *value = object.get(key);
  present = value && value->kind() != json::Value::Null;
  if (!present)
    return true;
  std::optional<double> number = value->getAsNumber();
  if (!number || !(*number > 0) || !std::isfinite(*number))
    return error(key, "'" + key + "' must be a number above zero");
  out = *number;
  return true;
}

/// Heads, KV heads and head dim of the Llama family and its many relatives.
bool HfReader::readHeads(StringRef headsKey, StringRef hiddenKey, int64_t defaultDim) {
  int64_t hidden = 0, dim = 0;
  if (!readInt(*config, headsKey, -1, spec.headsQ) ||
      !readInt(*config, "num_key_value_heads", spec.headsQ, spec.headsKv) ||
      !readInt(*config, "head_dim", 0, dim))
    return false;
  if (dim == 0)
    dim = defaultDim;
  if (dim == 0) {
    if (!readInt(*config, hiddenKey, -1, hidden))
      return false;
    if (hidden % spec.headsQ)
      return error(hiddenKey, "'" + hiddenKey + "' is " + Twine(hidden) +
                                  ", not a multiple of the " + Twine(spec.headsQ) +
                                  " heads, and there is no 'head_dim'");
    dim = hidden / spec.headsQ;
  }
  spec.dimQk = spec.dimV = dim;
  return true;
}

/// `sliding_window` counts tokens including the query's own.
bool HfReader::readWindow() {
  int64_t tokens = 0;
  if (!readInt(*config, "sliding_window", 0, tokens))
    return false;
  if (tokens == 0)
    return true;
  SpecMask mask;
  mask.kind = SpecMask::Kind::Window;
  mask.left = tokens - 1;
  mask.right = 0;
  spec.masks.push_back(mask);
  return true;
}

bool HfReader::addExpression(const std::string &score) {
  SpecScore part;
  part.kind = SpecScore::Kind::Expression;
  std::string fault;
  part.expression = parseExpression(
      score, ExprRole::Score, spec.args, [](size_t) { return SpecLoc(); },
      [&](size_t, const std::string &message) { fault = message; });
  if (!part.expression)
    return error("", "internal: the score '" + score + "' is not an expression: " + fault);
  spec.scores.push_back(std::move(part));
  return true;
}

bool HfReader::decodeNeedsDecoder(const char *model) {
  if (options.kind == SpecKind::Prefill)
    return true;
  return error("model_type",
               std::string(model) + " is an encoder and never decodes; use --kind prefill");
}

bool HfReader::llama() {
  bool gemma = config->getString("model_type").value_or("") == "gemma";
  addCausal();
  return readHeads("num_attention_heads", "hidden_size", gemma ? 256 : 0) && readWindow();
}

bool HfReader::qwen2() {
  addCausal();
  bool windows = isTrue(*config, "use_sliding_window", false);
  return readHeads("num_attention_heads", "hidden_size") && (!windows || readWindow());
}

bool HfReader::gemma2() {
  addCausal();
  double cap = 0, scalar = 0;
  bool hasCap = false, hasScalar = false;
  if (!readHeads("num_attention_heads", "hidden_size", 256) || !readWindow() ||
      !readFloat(*config, "attn_logit_softcapping", cap, hasCap) ||
      !readFloat(*config, "query_pre_attn_scalar", scalar, hasScalar))
    return false;
  if (hasCap) {
    SpecScore score;
    score.kind = SpecScore::Kind::Softcap;
    score.cap = static_cast<float>(cap);
    spec.scores.push_back(score);
  }
  if (hasScalar)
    spec.scale = static_cast<float>(1.0 / std::sqrt(scalar));
  if (spec.masks.size() > 1)
    note("every other layer has the window; the rest are the same without it");
  return true;
}

bool HfReader::gptOss() {
  addCausal();
  spec.sinks = true;
  note("every other layer has the window; the rest are the same without it");
  return readHeads("num_attention_heads", "hidden_size") && readWindow();
}

bool HfReader::bloom() {
  addCausal();
  SpecScore score;
  score.kind = SpecScore::Kind::Alibi;
  spec.scores.push_back(score);
  // Older BLOOM configurations say n_head and n_embed.
  bool old = !config->get("num_attention_heads") && config->get("n_head");
  return readHeads(old ? "n_head" : "num_attention_heads",
                   config->get("hidden_size") ? "hidden_size" : "n_embed");
}

bool HfReader::mpt() {
  addCausal();
  if (!readHeads("n_heads", "d_model"))
    return false;
  const json::Object empty, *attention = config->getObject("attn_config");
  if (!attention)
    attention = &empty;
  double scale = 0, biasMax = 8;
  bool hasScale = false, hasMax = false;
  if (!readInt(*attention, "kv_n_heads", spec.headsKv, spec.headsKv) ||
      !readFloat(*attention, "softmax_scale", scale, hasScale) ||
      !readFloat(*attention, "alibi_bias_max", biasMax, hasMax))
    return false;
  if (hasScale)
    spec.scale = static_cast<float>(scale);
  if (!isTrue(*attention, "alibi", false))
    return true;
  if (biasMax == 8 && llvm::isPowerOf2_64(static_cast<uint64_t>(spec.headsQ))) {
    SpecScore score;
    score.kind = SpecScore::Kind::Alibi;
    spec.scores.push_back(score);
    return true;
  }
  // Other slopes than the paper's are data.
  SpecArg slopes;
  slopes.name = "slopes";
  slopes.shape = {spec.headsQ};
  spec.args.push_back(slopes);
  SpecScore score;
  score.kind = SpecScore::Kind::AlibiSlopes;
  score.arg = "slopes";
  spec.scores.push_back(score);
  note("the model's ALiBi slopes are not the paper's; pass them as the argument 'slopes'");
  return true;
}

bool HfReader::bert() {
  note("batches with padding want 'seq: {kv: lens}'");
  return decodeNeedsDecoder("this model") && readHeads("num_attention_heads", "hidden_size");
}

bool HfReader::t5() {
  // No scaling of logits; a learnt bias by bucketed distance, which is constant beyond the largest.
  int64_t distance = 128;
  if (!readInt(*config, "num_heads", -1, spec.headsQ) ||
      !readInt(*config, "d_kv", -1, spec.dimQk) ||
      !readInt(*config, "relative_attention_max_distance", 128, distance))
    return false;
  spec.headsKv = spec.headsQ;
  spec.dimV = spec.dimQk;
  spec.scale = 1.0;
  bool decoder = options.kind == SpecKind::Decode;
  std::string d = std::to_string(distance);
  SpecArg table;
  table.name = "rel";
  table.shape = {spec.headsQ, decoder ? distance + 1 : 2 * distance + 1};
  spec.args.push_back(table);
  if (decoder)
    addCausal();
  note(decoder ? "'rel' holds the bias of each head at distances 0 to " + d + " back"
               : "'rel' holds the bias of each head at distances -" + d + " to " + d +
                     " (key minus query), expanded from the model's buckets");
  return addExpression(decoder ? "s + rel[h, min(max(q_pos - kv_pos, 0), " + d + ")]"
                               : "s + rel[h, min(max(kv_pos - q_pos, -" + d + "), " + d + ") + " +
                                     d + "]");
}

bool HfReader::deepseek() {
  addCausal();
  int64_t nope = 0, rope = 0, value = 0, rank = 0;
  if (!readInt(*config, "num_attention_heads", -1, spec.headsQ) ||
      !readInt(*config, "qk_nope_head_dim", -1, nope) ||
      !readInt(*config, "qk_rope_head_dim", -1, rope) ||
      !readInt(*config, "v_head_dim", -1, value) || !readInt(*config, "kv_lora_rank", -1, rank))
    return false;
  // YaRN multiplies the logits by (0.1 · mscale_all_dim · ln factor + 1)².
  double scale = 1.0 / std::sqrt(static_cast<double>(nope + rope));
  bool custom = options.kind == SpecKind::Decode;
  if (const json::Object *scaling = config->getObject("rope_scaling")) {
    double factor = 1, mscale = 0;
    bool hasFactor = false, hasScale = false;
    if (!readFloat(*scaling, "factor", factor, hasFactor) ||
        !readFloat(*scaling, "mscale_all_dim", mscale, hasScale))
      return false;
    if (hasFactor && hasScale && factor > 1) {
      double magnitude = 0.1 * mscale * std::log(factor) + 1;
      scale *= magnitude * magnitude;
      custom = true;
    }
  }
  if (options.kind == SpecKind::Prefill) {
    spec.headsKv = spec.headsQ;
    spec.dimQk = nope + rope;
    spec.dimV = value;
  } else {
    // Absorbed form: one latent KV head whose first kv_lora_rank columns are V.
    spec.headsKv = 1;
    spec.dimQk = rank + rope;
    spec.dimV = rank;
    note("decode is the absorbed form: k is the latent with its rope part, v its first " +
         std::to_string(rank) + " columns");
  }
  if (custom)
    spec.scale = static_cast<float>(scale);
  return true;
}

bool HfReader::paligemma() {
  const json::Object *inner = config->getObject("text_config");
  if (!inner)
    return error("", "the configuration lacks 'text_config', which this model type needs");
  config = inner;
  if (!readHeads("num_attention_heads", "hidden_size", 256))
    return false;
  if (options.kind == SpecKind::Decode) {
    addCausal(); // everything before the token is visible, prefix or not
    return true;
  }
  SpecArg prefix;
  prefix.name = "prefix";
  prefix.dtype = DType::I32;
  prefix.shape = {-1};
  spec.args.push_back(prefix);
  SpecMask mask;
  mask.kind = SpecMask::Kind::PrefixLm;
  mask.arg = "prefix";
  spec.masks.push_back(mask);
  note("'prefix' is the number of image and prompt tokens of each sequence");
  return true;
}

void HfReader::readDType() {
  std::optional<StringRef> name = config->getString("torch_dtype");
  if (!name)
    name = config->getString("dtype");
  StringRef type = name.value_or("");
  DType dtype = DType::BF16;
  if (type == "float16")
    dtype = DType::F16;
  else if (type == "float32")
    dtype = DType::F32;
  else if (type != "bfloat16")
    note("the configuration names no element type among float16, bfloat16, float32; took bf16");
  spec.dtypeQ = spec.dtypeKv = spec.dtypeO = dtype;
}

void HfReader::readName(StringRef modelType) {
  StringRef path = config->getString("_name_or_path").value_or("");
  StringRef base = path.rsplit('/').second.empty() ? path : path.rsplit('/').second;
  std::string name;
  for (char c : base.empty() ? modelType : base)
    name += isAlnum(c) ? toLower(c) : '-';
  while (!name.empty() && !isAlpha(name.front()))
    name.erase(name.begin());
  name.resize(std::min<size_t>(name.size(), 96));
  spec.name = (name.empty() ? std::string("model") : name) +
              (options.kind == SpecKind::Prefill ? "-prefill" : "-decode");
}

std::optional<Spec> HfReader::run() {
  if (text.size() > kMaxConfigBytes) {
    error("", "the configuration is longer than " + Twine(kMaxConfigBytes) +
                  " bytes, the most allowed");
    return std::nullopt;
  }
  // The JSON parser recurses, so nesting is bounded first.
  unsigned depth = 0;
  for (char c : text) {
    depth += c == '[' || c == '{';
    depth -= (c == ']' || c == '}') && depth > 0;
    if (depth > kMaxJsonDepth) {
      error("", "the configuration nests deeper than " + Twine(kMaxJsonDepth) + " levels");
      return std::nullopt;
    }
  }
  Expected<json::Value> parsed = json::parse(text);
  if (!parsed) {
    error("", "the configuration is not JSON: " + toString(parsed.takeError()));
    return std::nullopt;
  }
  config = parsed->getAsObject();
  std::optional<StringRef> type = config ? config->getString("model_type") : std::nullopt;
  if (!type) {
    error("", "the configuration has no 'model_type'; give a model's config.json");
    return std::nullopt;
  }
  SmallVector<StringRef> names;
  for (const Model &model : models())
    names.push_back(model.type);
  const Model *model = find_if(models(), [&](const Model &m) { return m.type == *type; });
  if (model == models().end()) {
    error("model_type", "unknown model type '" + type->take_front(64) + "'" +
                            didYouMean(*type, names) + "; known: " + join(names, ", "));
    return std::nullopt;
  }
  spec.fileName = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier().str();
  spec.kind = options.kind;
  readDType();
  readName(*type);
  if (spec.kind == SpecKind::Decode) {
    spec.seq = SpecSeq::KvLens;
    if (options.pageSize)
      spec.pageSize = options.pageSize;
  }
  if (!(this->*model->handler)())
    return std::nullopt;
  std::vector<SpecFault> faults = verifySpec(spec);
  for (const SpecFault &fault : faults)
    error(StringRef(fault.key).starts_with("heads") ? "num_attention_heads" : "", fault.message);
  return faults.empty() ? std::optional<Spec>(std::move(spec)) : std::nullopt;
}

} // namespace

std::optional<Spec> specFromHf(SourceMgr &sources, const HfOptions &options,
                               std::vector<std::string> &notes) {
  return HfReader(sources, options, notes).run();
}

} // namespace attnc
