// LLVM's YAML stream to the located tree, with hostile input refused before it costs anything.
#include "YamlTree.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/YAMLParser.h"

using namespace llvm;

namespace attnc {

const char *YamlNode::kindName() const {
  switch (kind) {
  case Kind::Null:
    return "nothing";
  case Kind::Scalar:
    return "a plain value";
  case Kind::Sequence:
    return "a list";
  case Kind::Mapping:
    return "a mapping";
  }
  return "";
}

SMLoc YamlNode::locOf(size_t offset) const {
  // Folding only changes white space, so the value's other characters appear in order in `raw`.
  size_t at = quoted ? 1 : 0;
  for (size_t i = 0; i < offset && i < value.size() && at < raw.size(); ++i) {
    if (!isSpace(value[i]))
      while (at < raw.size() && raw[at] != value[i])
        ++at;
    ++at;
  }
  while (offset < value.size() && !isSpace(value[offset]) && at < raw.size() &&
         raw[at] != value[offset])
    ++at;
  return SMLoc::getFromPointer(raw.data() + std::min(at, raw.size()));
}

namespace {

class TreeReader {
public:
  explicit TreeReader(SourceMgr &sources)
      : sources(sources), text(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer()) {}

  std::optional<YamlNode> run() {
    if (!checkText())
      return std::nullopt;
    yaml::Stream stream(MemoryBufferRef(text, bufferName()), sources, /*ShowColors=*/false);
    yaml::document_iterator document = stream.begin();
    if (document == stream.end() || stream.failed())
      return failEmpty();
    yaml::Node *root = document->getRoot();
    if (!root || stream.failed())
      return std::nullopt;
    YamlNode tree;
    if (!read(*root, tree, SMLoc::getFromPointer(text.data()), 0) || stream.failed())
      return std::nullopt;
    ++document;
    if (stream.failed())
      return std::nullopt;
    if (document != stream.end()) {
      error(lastLoc, "found a second YAML document after this; a spec file is one document");
      return std::nullopt;
    }
    if (tree.kind == YamlNode::Kind::Null)
      return failEmpty();
    return tree;
  }

private:
  StringRef bufferName() const {
    return sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  }

  bool error(SMLoc loc, const Twine &message) {
    sources.PrintMessage(loc, SourceMgr::DK_Error, message);
    return false;
  }

  std::nullopt_t failEmpty() {
    error(SMLoc::getFromPointer(text.data()),
          "the spec is empty; it starts with 'attn: 1', see 'attnc spec schema'");
    return std::nullopt;
  }

  bool checkText();
  bool checkNesting();
  bool read(yaml::Node &node, YamlNode &out, SMLoc fallback, unsigned depth);
  bool readScalar(yaml::ScalarNode &node, YamlNode &out);
  bool readMapping(yaml::MappingNode &node, YamlNode &out, unsigned depth);

  SourceMgr &sources;
  StringRef text;
  SMLoc lastLoc;
  unsigned nodes = 0;
};

/// Size, encoding and characters; LLVM's scanner is never shown anything else.
bool TreeReader::checkText() {
  SMLoc start = SMLoc::getFromPointer(text.data());
  if (text.size() > kMaxSpecBytes)
    return error(start, "the spec is " + Twine(text.size()) + " bytes long; at most " +
                            Twine(kMaxSpecBytes) + " are allowed");
  const auto *cursor = reinterpret_cast<const UTF8 *>(text.begin());
  const auto *end = reinterpret_cast<const UTF8 *>(text.end());
  if (!isLegalUTF8String(&cursor, end))
    return error(SMLoc::getFromPointer(reinterpret_cast<const char *>(cursor)),
                 "the spec is not UTF-8 from here on; save it as UTF-8");
  for (const char &c : text) {
    bool lineEnd = c == '\n' || (c == '\r' && &c + 1 != text.end() && *(&c + 1) == '\n');
    if ((static_cast<unsigned char>(c) < 0x20 || c == 0x7f) && !lineEnd)
      return error(SMLoc::getFromPointer(&c),
                   c == '\t'
                       ? Twine("found a tab; YAML is indented with spaces")
                       : "found control character 0x" + utohexstr(static_cast<unsigned char>(c)) +
                             "; a spec is plain text");
  }
  return checkNesting();
}

/// Brackets and dashes open at once bound the depth of the tree. Counting them in comments and
/// strings too only makes the limit stricter, and none that is honest comes near it.
bool TreeReader::checkNesting() {
  constexpr unsigned maxOpen = 128, maxIndent = 128;
  unsigned open = 0;
  bool lineStart = true;
  unsigned column = 0;
  for (const char &c : text) {
    if (c == '\n') {
      lineStart = true;
      column = 0;
      continue;
    }
    ++column;
    if (c == '[' || c == '{')
      ++open;
    else if ((c == ']' || c == '}') && open > 0)
      --open;
    if (open > maxOpen)
      return error(SMLoc::getFromPointer(&c),
                   "brackets nest deeper than " + Twine(maxOpen) + " levels");
    if (lineStart && c == '%' && column == 1)
      return error(SMLoc::getFromPointer(&c), "YAML directives are not allowed in a spec");
    if (c != ' ' && c != '-' && c != '?' && c != ':')
      lineStart = false;
    if (lineStart && column > maxIndent)
      return error(SMLoc::getFromPointer(&c),
                   "the line is indented by more than " + Twine(maxIndent) + " columns");
  }
  return true;
}

bool TreeReader::readScalar(yaml::ScalarNode &node, YamlNode &out) {
  out.kind = YamlNode::Kind::Scalar;
  out.raw = node.getRawValue();
  out.loc = SMLoc::getFromPointer(out.raw.data());
  out.quoted = out.raw.starts_with("\"") || out.raw.starts_with("'");
  if (out.raw.starts_with("\"") && out.raw.contains('\\'))
    return error(out.loc, "found '\\' in a quoted value; no value of a spec needs escapes");
  SmallString<128> storage;
  out.value = node.getValue(storage).str();
  return true;
}

bool TreeReader::readMapping(yaml::MappingNode &node, YamlNode &out, unsigned depth) {
  out.kind = YamlNode::Kind::Mapping;
  bool first = true;
  for (auto it = node.begin(), end = node.end(); it != end; ++it) {
    yaml::KeyValueNode &pair = *it;
    yaml::Node *keyNode = pair.getKey();
    if (!keyNode || keyNode->failed())
      return false;
    YamlNode key;
    if (!read(*keyNode, key, out.loc, depth + 1))
      return false;
    if (!key.isScalar())
      return error(key.loc, Twine("found ") + key.kindName() + " as a key; keys are names");
    if (first)
      out.loc = key.loc;
    first = false;
    auto previous =
        llvm::find_if(out.entries, [&](const YamlEntry &entry) { return entry.key == key.value; });
    if (previous != out.entries.end()) {
      error(key.loc, "key '" + key.value + "' appears twice; keep one of them");
      sources.PrintMessage(previous->keyLoc, SourceMgr::DK_Note, "it is here already");
      return false;
    }
    yaml::Node *valueNode = pair.getValue();
    if (!valueNode || valueNode->failed())
      return false;
    YamlEntry entry;
    entry.key = key.value;
    entry.keyLoc = key.loc;
    if (!read(*valueNode, entry.value, key.loc, depth + 1))
      return false;
    out.entries.push_back(std::move(entry));
  }
  return !node.failed();
}

bool TreeReader::read(yaml::Node &node, YamlNode &out, SMLoc fallback, unsigned depth) {
  out.loc = fallback;
  if (depth > kMaxYamlDepth)
    return error(fallback, "values nest deeper than " + Twine(kMaxYamlDepth) + " levels");
  if (++nodes > kMaxYamlNodes)
    return error(fallback, "the spec has more than " + Twine(kMaxYamlNodes) + " values");
  if (isa<yaml::AliasNode>(node))
    return error(fallback, "aliases ('*name') are not allowed in a spec; write the value out");
  if (!node.getAnchor().empty())
    return error(SMLoc::getFromPointer(node.getAnchor().data()),
                 "anchors ('&name') are not allowed in a spec; write the value out");
  if (!node.getRawTag().empty())
    return error(SMLoc::getFromPointer(node.getRawTag().data()),
                 "tags ('!type') are not allowed in a spec");
  bool ok = true;
  if (auto *scalar = dyn_cast<yaml::ScalarNode>(&node)) {
    ok = readScalar(*scalar, out);
  } else if (auto *block = dyn_cast<yaml::BlockScalarNode>(&node)) {
    out.kind = YamlNode::Kind::Scalar;
    out.value = block->getValue().rtrim('\n').str();
    out.loc = block->getSourceRange().Start;
    const char *rawEnd = block->getSourceRange().End.getPointer();
    out.raw = StringRef(out.loc.getPointer(), rawEnd - out.loc.getPointer());
  } else if (auto *mapping = dyn_cast<yaml::MappingNode>(&node)) {
    ok = readMapping(*mapping, out, depth);
  } else if (auto *sequence = dyn_cast<yaml::SequenceNode>(&node)) {
    out.kind = YamlNode::Kind::Sequence;
    for (auto it = sequence->begin(), end = sequence->end(); ok && it != end; ++it) {
      out.items.emplace_back();
      ok = read(*it, out.items.back(), fallback, depth + 1);
    }
    ok = ok && !node.failed();
  } else if (isa<yaml::NullNode>(node)) {
    out.kind = YamlNode::Kind::Null;
  }
  lastLoc = out.loc;
  return ok;
}

} // namespace

std::optional<YamlNode> readYaml(SourceMgr &sources) { return TreeReader(sources).run(); }

} // namespace attnc
