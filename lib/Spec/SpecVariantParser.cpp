// YAML to masks, scores and arguments.
#include "SpecReader.h"
#include "attnc/Spec/Expression.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attnc {
namespace {

const DType kArgTypes[] = {DType::F16, DType::BF16, DType::F32, DType::I32, DType::Bool};
const StringRef kMaskKeys[] = {"causal",    "window",   "window_tokens",
                               "prefix_lm", "document", "expr"};
const StringRef kScoreKeys[] = {"softcap", "alibi", "expr"};

bool isIdentifier(StringRef text) {
  return !text.empty() && (isAlpha(text[0]) || text[0] == '_') &&
         all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
}

class VariantReader {
public:
  VariantReader(SpecReader &reader, ArrayRef<SpecArg> args) : reader(reader), args(args) {}

  bool readMask(const YamlNode &node, SpecMask &mask);
  bool readScore(const YamlNode &node, SpecScore &score);

private:
  bool readNamedMask(const YamlNode &node, SpecMask &mask);
  bool readWindow(const YamlNode &node, SpecMask &mask);
  /// A word that is neither a known name nor something an expression could be.
  bool isUnknownWord(StringRef text) const {
    return isIdentifier(text) && !is_contained(expressionReservedNames(), text) &&
           none_of(args, [&](const SpecArg &arg) { return arg.name == text; });
  }
  /// The one key of a mapping such as {window: [3, 0]}; null after an error.
  const YamlEntry *onlyEntry(const YamlNode &node, StringRef what, ArrayRef<StringRef> known);
  std::shared_ptr<const Expression> readExpression(const YamlNode &node, ExprRole role);
  const SpecArg *readArg(const YamlNode &node, StringRef what, StringRef needs,
                         function_ref<bool(const SpecArg &)> fits);

  SpecReader &reader;
  ArrayRef<SpecArg> args;
};

const YamlEntry *VariantReader::onlyEntry(const YamlNode &node, StringRef what,
                                          ArrayRef<StringRef> known) {
  if (!node.isMapping()) {
    reader.error(node.loc, what + " is a name, an expression or one of {" + joinChoices(known) +
                               ": …}; found " + node.kindName());
    return nullptr;
  }
  if (!reader.checkKeys(node, what, known))
    return nullptr;
  if (node.entries.size() == 1)
    return &node.entries.front();
  reader.error(node.loc, what + " has " + Twine(node.entries.size()) +
                             " keys; write one each, as a list such as [causal, {window: [3, 0]}]");
  return nullptr;
}

std::shared_ptr<const Expression> VariantReader::readExpression(const YamlNode &node,
                                                                ExprRole role) {
  if (!node.isScalar()) {
    reader.error(node.loc, Twine("an expression is text; found ") + node.kindName());
    return nullptr;
  }
  return parseExpression(
      node.value, role, args, [&](size_t offset) { return reader.locate(node.locOf(offset)); },
      [&](size_t offset, const std::string &message) {
        reader.error(node.locOf(offset), message);
      });
}

const SpecArg *VariantReader::readArg(const YamlNode &node, StringRef what, StringRef needs,
                                      function_ref<bool(const SpecArg &)> fits) {
  if (!node.isScalar()) {
    reader.error(node.loc, what + " takes the name of an argument; found " + node.kindName());
    return nullptr;
  }
  SmallVector<StringRef> names;
  for (const SpecArg &arg : args) {
    names.push_back(arg.name);
    if (arg.name != node.value)
      continue;
    if (fits(arg))
      return &arg;
    reader.error(node.loc, what + " takes an argument of type " + needs + "; '" + node.value +
                               "' is declared otherwise under 'args'");
    return nullptr;
  }
  reader.error(node.loc, "'" + StringRef(node.value).take_front(64) + "' is not an argument" +
                             didYouMean(node.value, names) + "; declare it under 'args' as " +
                             needs);
  return nullptr;
}

/// [left, right] or {left: …, right: …}; −1 is unbounded.
bool VariantReader::readWindow(const YamlNode &node, SpecMask &mask) {
  mask.kind = SpecMask::Kind::Window;
  if (node.isSequence()) {
    if (node.items.size() != 2)
      return reader.error(node.loc,
                          "a window has " + Twine(node.items.size()) +
                              " numbers; write [left, right], both inclusive, -1 for unbounded");
    return reader.readInt(node.items[0], "the window's left", -1, kMaxWindow, mask.left) &&
           reader.readInt(node.items[1], "the window's right", -1, kMaxWindow, mask.right);
  }
  if (node.isScalar())
    return reader.error(node.loc,
                        "window takes [left, right], both inclusive; a model's window of W tokens "
                        "including the query's own is {window_tokens: W}");
  if (!reader.checkKeys(node, "window", {"left", "right"}))
    return false;
  const YamlEntry *left = SpecReader::find(node, "left"), *right = SpecReader::find(node, "right");
  return (!left || reader.readInt(left->value, "the window's left", -1, kMaxWindow, mask.left)) &&
         (!right || reader.readInt(right->value, "the window's right", -1, kMaxWindow, mask.right));
}

bool VariantReader::readNamedMask(const YamlNode &node, SpecMask &mask) {
  const YamlEntry *entry = onlyEntry(node, "a mask", kMaskKeys);
  if (!entry)
    return false;
  const YamlNode &value = entry->value;
  if (entry->key == "window")
    return readWindow(value, mask);
  if (entry->key == "window_tokens") {
    // W tokens including the query's own: W − 1 before it and none after.
    int64_t tokens;
    if (!reader.readInt(value, "window_tokens", 1, kMaxWindow, tokens))
      return false;
    mask.kind = SpecMask::Kind::Window;
    mask.left = tokens - 1;
    mask.right = 0;
    return true;
  }
  if (entry->key == "causal") {
    size_t choice;
    if (!reader.readChoice(value, "causal", {"bottom_right", "top_left"}, choice))
      return false;
    mask.kind = choice ? SpecMask::Kind::CausalTopLeft : SpecMask::Kind::Causal;
    return true;
  }
  if (entry->key == "expr") {
    mask.kind = SpecMask::Kind::Expression;
    mask.loc = reader.locate(value.loc);
    mask.expression = readExpression(value, ExprRole::Mask);
    return mask.expression != nullptr;
  }
  bool prefix = entry->key == "prefix_lm";
  mask.kind = prefix ? SpecMask::Kind::PrefixLm : SpecMask::Kind::Document;
  mask.arg = value.value;
  if (prefix)
    return readArg(value, "prefix_lm", "i32 or i32[?] (one length, or one a sequence)",
                   [](const SpecArg &arg) {
                     return arg.dtype == DType::I32 && arg.shape.size() <= 1;
                   }) != nullptr;
  return readArg(value, "document", "i32[?, ?] (one id for each sequence and key)",
                 [](const SpecArg &arg) {
                   return arg.dtype == DType::I32 && arg.shape.size() == 2;
                 }) != nullptr;
}

bool VariantReader::readMask(const YamlNode &node, SpecMask &mask) {
  mask.loc = reader.locate(node.loc);
  if (!node.isScalar())
    return readNamedMask(node, mask);
  StringRef text = node.value;
  if (text == "causal") {
    mask.kind = SpecMask::Kind::Causal;
    return true;
  }
  if (text == "causal_top_left") {
    mask.kind = SpecMask::Kind::CausalTopLeft;
    return true;
  }
  static const StringRef names[] = {"causal",        "causal_top_left", "window",
                                    "window_tokens", "prefix_lm",       "document"};
  if (is_contained(ArrayRef<StringRef>(names), text))
    return reader.error(node.loc, "mask '" + text + "' needs a value; write {" + text + ": " +
                                      (text == "window"          ? "[4095, 0]"
                                       : text == "window_tokens" ? "4096"
                                                                 : "argument") +
                                      "}");
  if (isUnknownWord(text))
    return reader.error(node.loc, "unknown mask '" + text.take_front(64) + "'" +
                                      didYouMean(text, names) + "; known: " + joinChoices(names) +
                                      ", or an expression");
  mask.kind = SpecMask::Kind::Expression;
  mask.expression = readExpression(node, ExprRole::Mask);
  return mask.expression != nullptr;
}

bool VariantReader::readScore(const YamlNode &node, SpecScore &score) {
  score.loc = reader.locate(node.loc);
  if (node.isScalar()) {
    StringRef text = node.value;
    if (text == "alibi") {
      score.kind = SpecScore::Kind::Alibi;
      return true;
    }
    static const StringRef names[] = {"alibi", "softcap"};
    if (text == "softcap")
      return reader.error(node.loc, "score 'softcap' needs a value; write {softcap: 50.0}");
    if (isUnknownWord(text))
      return reader.error(node.loc,
                          "unknown score '" + text.take_front(64) + "'" + didYouMean(text, names) +
                              "; known: alibi, {softcap: cap}, {alibi: slopes}, or an expression");
    score.kind = SpecScore::Kind::Expression;
    score.expression = readExpression(node, ExprRole::Score);
    return score.expression != nullptr;
  }
  const YamlEntry *entry = onlyEntry(node, "a score", kScoreKeys);
  if (!entry)
    return false;
  if (entry->key == "softcap") {
    score.kind = SpecScore::Kind::Softcap;
    return reader.readPositiveFloat(entry->value, "softcap", score.cap);
  }
  if (entry->key == "alibi") {
    score.kind = SpecScore::Kind::AlibiSlopes;
    score.arg = entry->value.value;
    return readArg(entry->value, "alibi", "f32[?] (one slope a query head)",
                   [](const SpecArg &arg) {
                     return arg.dtype == DType::F32 && arg.shape.size() == 1;
                   }) != nullptr;
  }
  score.kind = SpecScore::Kind::Expression;
  score.loc = reader.locate(entry->value.loc);
  score.expression = readExpression(entry->value, ExprRole::Score);
  return score.expression != nullptr;
}

/// The parts of `mask` or `score`: a list, or one part alone.
ArrayRef<YamlNode> partsOf(const YamlNode &node) {
  return node.isSequence() ? ArrayRef<YamlNode>(node.items) : ArrayRef<YamlNode>(node);
}

/// `f32`, or `f32[32, ?]`.
bool readArgType(SpecReader &reader, const YamlNode &node, SpecArg &arg) {
  std::string what = "argument '" + arg.name + "'";
  StringRef text = node.value;
  size_t bracket = text.find('[');
  if (!reader.readDType(text.take_front(bracket).trim(), node.loc, "the type of " + what, kArgTypes,
                        arg.dtype))
    return false;
  if (bracket == StringRef::npos)
    return true;
  StringRef dims = text.drop_front(bracket + 1).rtrim();
  if (!dims.consume_back("]"))
    return reader.error(node.loc,
                        what + " lacks ']'; write a tensor as f32[32, ?], ? for any extent");
  SmallVector<StringRef> parts;
  dims.split(parts, ',');
  for (StringRef part : parts) {
    int64_t extent = -1;
    size_t offset = static_cast<size_t>(part.trim().data() - text.data());
    if (part.trim() != "?" &&
        !reader.readInt(part.trim(), node.locOf(offset), "an extent of " + what + " (or ? for any)",
                        1, INT32_MAX, extent))
      return false;
    arg.shape.push_back(extent);
  }
  return true;
}

/// {tensor: f32, rank: 2} or {tensor: f32, shape: [32, "?"]}.
bool readArgMapping(SpecReader &reader, const YamlNode &node, SpecArg &arg) {
  std::string what = "argument '" + arg.name + "'";
  if (!reader.checkKeys(node, what, {"tensor", "rank", "shape"}))
    return false;
  const YamlEntry *tensor = SpecReader::find(node, "tensor"),
                  *rank = SpecReader::find(node, "rank"), *shape = SpecReader::find(node, "shape");
  if (!tensor || (rank != nullptr) == (shape != nullptr))
    return reader.error(node.loc, what + " must have 'tensor' and either 'rank' or 'shape', as in "
                                         "{tensor: f32, rank: 2}");
  if (!reader.readDType(tensor->value, "the element type of " + what, kArgTypes, arg.dtype))
    return false;
  if (rank) {
    int64_t count;
    if (!reader.readInt(rank->value, "the rank of " + what, 1, kMaxArgRank, count))
      return false;
    arg.shape.assign(static_cast<size_t>(count), -1);
    return true;
  }
  if (!shape->value.isSequence() || shape->value.items.empty())
    return reader.error(shape->value.loc,
                        "the shape of " + what + " is a list of extents, as in [32, \"?\"]");
  for (const YamlNode &item : shape->value.items) {
    int64_t extent = -1;
    if (!(item.isScalar() && item.value == "?") &&
        !reader.readInt(item, "an extent of " + what + " (or \"?\" for any)", 1, INT32_MAX, extent))
      return false;
    arg.shape.push_back(extent);
  }
  return true;
}

} // namespace

bool readArgs(SpecReader &reader, const YamlNode &node, std::vector<SpecArg> &args) {
  if (!node.isMapping())
    return reader.error(node.loc,
                        Twine("args is a mapping from names to types, as in {cap: f32}; found ") +
                            node.kindName());
  bool ok = true;
  for (const YamlEntry &entry : node.entries) {
    SpecArg arg;
    arg.name = entry.key;
    arg.loc = reader.locate(entry.keyLoc);
    if (entry.value.isScalar())
      ok &= readArgType(reader, entry.value, arg);
    else if (entry.value.isMapping())
      ok &= readArgMapping(reader, entry.value, arg);
    else
      ok = reader.error(entry.value.loc, "argument '" + arg.name +
                                             "' needs a type, such as f32, i32 or f32[32, ?]; "
                                             "found " +
                                             entry.value.kindName());
    args.push_back(std::move(arg));
  }
  return ok;
}

bool readMasks(SpecReader &reader, const YamlNode &node, ArrayRef<SpecArg> args,
               std::vector<SpecMask> &masks) {
  if (node.isScalar() && !node.quoted && node.value == "none")
    return true;
  VariantReader variants(reader, args);
  bool ok = true;
  for (const YamlNode &part : partsOf(node)) {
    masks.emplace_back();
    ok &= variants.readMask(part, masks.back());
  }
  return ok;
}

bool readScores(SpecReader &reader, const YamlNode &node, ArrayRef<SpecArg> args,
                std::vector<SpecScore> &scores) {
  if (node.isScalar() && !node.quoted && node.value == "none")
    return true;
  VariantReader variants(reader, args);
  bool ok = true;
  for (const YamlNode &part : partsOf(node)) {
    scores.emplace_back();
    ok &= variants.readScore(part, scores.back());
  }
  return ok;
}

} // namespace attnc
