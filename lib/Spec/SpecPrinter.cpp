// Spec to canonical YAML, and its hash.
#include "SpecVariants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace llvm;

namespace attnc {
namespace {

constexpr size_t kLineWidth = 100;

std::string quote(const std::string &text) { return "\"" + text + "\""; }

/// Opaque assembly may hold anything, so it is escaped; it is for reading, not for parsing again.
std::string quoteEscaped(StringRef text) {
  std::string out;
  raw_string_ostream stream(out);
  stream << '"';
  printEscapedString(text, stream);
  stream << '"';
  return out;
}

/// An expression; one that could be taken for a name is marked as an expression.
std::string expressionPart(const Expression &expression, StringRef names) {
  SmallVector<StringRef> known;
  names.split(known, ' ');
  return is_contained(known, expression.text) ? "{expr: " + quote(expression.text) + "}"
                                              : quote(expression.text);
}

std::string maskPart(const SpecMask &mask) {
  switch (mask.kind) {
  case SpecMask::Kind::Causal:
    return "causal";
  case SpecMask::Kind::CausalTopLeft:
    return "causal_top_left";
  case SpecMask::Kind::Window:
    return "{window: [" + std::to_string(mask.left) + ", " + std::to_string(mask.right) + "]}";
  case SpecMask::Kind::PrefixLm:
    return "{prefix_lm: " + mask.arg + "}";
  case SpecMask::Kind::Document:
    return "{document: " + mask.arg + "}";
  case SpecMask::Kind::Expression:
    return expressionPart(*mask.expression, "none");
  case SpecMask::Kind::Opaque:
    return "{region: " + quoteEscaped(mask.text) + "}";
  }
  return "";
}

std::string scorePart(const SpecScore &score) {
  switch (score.kind) {
  case SpecScore::Kind::Softcap:
    return "{softcap: " + floatText(score.cap) + "}";
  case SpecScore::Kind::Alibi:
    return "alibi";
  case SpecScore::Kind::AlibiSlopes:
    return "{alibi: " + score.arg + "}";
  case SpecScore::Kind::Expression:
    return expressionPart(*score.expression, "none softcap");
  case SpecScore::Kind::Opaque:
    return "{region: " + quoteEscaped(score.text) + "}";
  }
  return "";
}

/// One part alone, several as a list: on the line when they fit it.
std::string partList(StringRef key, ArrayRef<std::string> parts) {
  if (parts.empty())
    return "";
  if (parts.size() == 1)
    return (key + ": " + parts[0] + "\n").str();
  std::string line = (key + ": [" + join(parts, ", ") + "]\n").str();
  if (line.size() <= kLineWidth)
    return line;
  std::string block = (key + ":\n").str();
  for (const std::string &part : parts)
    block += "  - " + part + "\n";
  return block;
}

std::string argType(const SpecArg &arg) {
  std::string text = dtypeName(arg.dtype);
  if (!arg.isTensor())
    return text;
  text += "[";
  for (auto [index, extent] : llvm::enumerate(arg.shape))
    text += (index ? ", " : "") + (extent < 0 ? std::string("?") : std::to_string(extent));
  return quote(text + "]");
}

std::string argLines(const Spec &spec) {
  if (spec.args.empty())
    return "";
  SmallVector<std::string> parts;
  for (const SpecArg &arg : spec.args)
    parts.push_back(arg.name + ": " + argType(arg));
  std::string line = "args: {" + join(parts, ", ") + "}\n";
  if (line.size() <= kLineWidth)
    return line;
  std::string block = "args:\n";
  for (const std::string &part : parts)
    block += "  " + part + "\n";
  return block;
}

std::string sequenceLines(const Spec &spec) {
  SmallVector<std::string> parts;
  if (spec.kind == SpecKind::Decode && spec.maxQ != 1)
    parts.push_back("q: 1.." + std::to_string(spec.maxQ));
  if (spec.seq == SpecSeq::KvLens)
    parts.push_back("kv: lens");
  if (spec.seq == SpecSeq::Varlen)
    parts.push_back("varlen: cu_seqlens");
  std::string text = parts.empty() ? "" : "seq: {" + join(parts, ", ") + "}\n";
  if (spec.pageSize)
    text += "kv: paged(page=" + std::to_string(*spec.pageSize) + ")\n";
  return text;
}

/// `key: a` when both are equal, else `key: {first: a, second: b}`.
std::string pairLine(const char *key, const char *first, const char *second, int64_t a, int64_t b) {
  std::string text = std::string(key) + ": ";
  if (a == b)
    return text + std::to_string(a) + "\n";
  return text + "{" + first + ": " + std::to_string(a) + ", " + second + ": " + std::to_string(b) +
         "}\n";
}

} // namespace

std::string printSpec(const Spec &spec) {
  std::string text = "attn: 1\nname: " + spec.name + "\n";
  text += std::string("kind: ") + (spec.kind == SpecKind::Prefill ? "prefill\n" : "decode\n");
  text += pairLine("heads", "q", "kv", spec.headsQ, spec.headsKv);
  text += pairLine("dim", "qk", "v", spec.dimQk, spec.dimV);
  std::string q = dtypeName(spec.dtypeQ), kv = dtypeName(spec.dtypeKv), o = dtypeName(spec.dtypeO);
  text += q == kv && q == o ? "dtype: " + q + "\n"
                            : "dtype: {q: " + q + ", kv: " + kv + ", o: " + o + "}\n";
  if (spec.layout == SpecLayout::BHSD)
    text += "layout: bhsd\n";
  text += sequenceLines(spec);
  text += argLines(spec);
  SmallVector<std::string> parts;
  for (const SpecMask &mask : spec.masks)
    parts.push_back(maskPart(mask));
  text += partList("mask", parts);
  parts.clear();
  for (const SpecScore &score : spec.scores)
    parts.push_back(scorePart(score));
  text += partList("score", parts);
  if (spec.bias)
    text += std::string("bias: ") + dtypeName(*spec.bias) + "\n";
  if (spec.sinks)
    text += "sinks: true\n";
  if (spec.scale)
    text += "scale: " + floatText(*spec.scale) + "\n";
  if (spec.lse)
    text += "out: [o, lse]\n";
  if (spec.splitKv)
    text += "split_kv: " + std::to_string(*spec.splitKv) + "\n";
  return text;
}

std::string specHash(const Spec &spec) {
  std::string text = printSpec(spec);
  auto digest =
      BLAKE3::hash<32>(ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return toHex(digest, /*LowerCase=*/true);
}

} // namespace attnc
