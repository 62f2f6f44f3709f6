// YAML to Spec: the top-level keys. Masks, scores and arguments are in SpecVariantParser.cpp, the
// limits in SpecVerifier.cpp.
#include "SpecReader.h"
#include "attnc/Spec/Expression.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attnc {
namespace {

constexpr int64_t kAnyInt = INT32_MAX;
const DType kFloatTypes[] = {DType::F16, DType::BF16, DType::F32};

class SpecParser {
public:
  explicit SpecParser(SourceMgr &sources) : sources(sources), reader(sources) {}

  std::optional<Spec> run() {
    std::optional<YamlNode> tree = readYaml(sources);
    if (!tree)
      return std::nullopt;
    spec.fileName = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier().str();
    spec.loc = reader.locate(tree->loc);
    root = &*tree;
    static const StringRef known[] = {"attn",   "name",  "kind",  "heads", "dim",     "dtype",
                                      "layout", "seq",   "kv",    "args",  "mask",    "score",
                                      "bias",   "sinks", "scale", "out",   "split_kv"};
    if (!tree->isMapping()) {
      reader.error(tree->loc, Twine("a spec is a mapping that starts with 'attn: 1'; found ") +
                                  tree->kindName());
      return std::nullopt;
    }
    reader.checkKeys(*tree, "the spec", known);
    readHeader();
    readShape();
    readLengths();
    readVariant();
    if (reader.errorCount() == 0)
      checkLimits();
    if (reader.errorCount() == 0)
      warnUnusedArgs();
    if (reader.errorCount())
      return std::nullopt;
    return std::move(spec);
  }

private:
  /// The value of a key; null when it is absent or empty (which is an error).
  const YamlNode *get(StringRef key) {
    const YamlEntry *entry = SpecReader::find(*root, key);
    if (!entry)
      return nullptr;
    places[key] = entry->value.loc.isValid() ? entry->value.loc : entry->keyLoc;
    if (entry->value.kind != YamlNode::Kind::Null)
      return &entry->value;
    reader.error(entry->keyLoc, "key '" + key + "' has no value; give it one or remove the key");
    return nullptr;
  }

  /// As get, for keys that every spec has.
  const YamlNode *require(StringRef key, StringRef example) {
    const YamlNode *node = get(key);
    if (!node && !SpecReader::find(*root, key))
      reader.error(root->loc,
                   "the spec lacks the key '" + key + "'; add a line such as '" + example + "'");
    return node;
  }

  void readHeader() {
    int64_t version;
    if (const YamlNode *node = require("attn", "attn: 1"))
      reader.readInt(*node, "the version of the spec language", 1, 1, version);
    if (const YamlNode *node = require("name", "name: my-attention")) {
      if (node->isScalar())
        spec.name = node->value;
      else
        reader.error(node->loc, Twine("name must be text; found ") + node->kindName());
    }
    size_t choice;
    if (const YamlNode *node = require("kind", "kind: prefill"))
      if (reader.readChoice(*node, "kind", {"prefill", "decode"}, choice))
        spec.kind = choice ? SpecKind::Decode : SpecKind::Prefill;
  }

  /// `both: N` or `both: {first: N, second: M}`.
  void readPair(StringRef key, StringRef example, StringRef first, StringRef second, int64_t &a,
                int64_t &b) {
    const YamlNode *node = require(key, example);
    if (!node)
      return;
    if (node->isScalar()) {
      if (reader.readInt(*node, key, 0, kAnyInt, a))
        b = a;
      return;
    }
    if (!reader.checkKeys(*node, key, {first, second}))
      return;
    for (auto [name, value] : {std::pair(first, &a), std::pair(second, &b)}) {
      if (const YamlEntry *entry = SpecReader::find(*node, name)) {
        places[(key + "." + name).str()] = entry->value.loc;
        reader.readInt(entry->value, (key + "." + name).str(), 0, kAnyInt, *value);
      } else {
        reader.error(node->loc, key + " lacks '" + name + "'; write '" + example + "'");
      }
    }
  }

  void readShape() {
    readPair("heads", "heads: {q: 32, kv: 8}", "q", "kv", spec.headsQ, spec.headsKv);
    readPair("dim", "dim: 128", "qk", "v", spec.dimQk, spec.dimV);
    if (const YamlNode *node = require("dtype", "dtype: bf16"))
      readDTypes(*node);
    size_t choice;
    if (const YamlNode *node = get("layout"))
      if (reader.readChoice(*node, "layout", {"bshd", "bhsd"}, choice))
        spec.layout = choice ? SpecLayout::BHSD : SpecLayout::BSHD;
  }

  void readDTypes(const YamlNode &node) {
    if (node.isScalar()) {
      if (reader.readDType(node, "dtype", kFloatTypes, spec.dtypeQ))
        spec.dtypeKv = spec.dtypeO = spec.dtypeQ;
      return;
    }
    if (!reader.checkKeys(node, "dtype", {"q", "kv", "o"}))
      return;
    const YamlEntry *q = SpecReader::find(node, "q");
    if (!q) {
      reader.error(node.loc, "dtype lacks 'q'; write 'dtype: {q: bf16, kv: bf16, o: bf16}'");
      return;
    }
    if (!reader.readDType(q->value, "dtype.q", kFloatTypes, spec.dtypeQ))
      return;
    spec.dtypeKv = spec.dtypeO = spec.dtypeQ;
    if (const YamlEntry *kv = SpecReader::find(node, "kv"))
      reader.readDType(kv->value, "dtype.kv", kFloatTypes, spec.dtypeKv);
    if (const YamlEntry *o = SpecReader::find(node, "o"))
      reader.readDType(o->value, "dtype.o", kFloatTypes, spec.dtypeO);
  }

  void readLengths() {
    bool kvGiven = false;
    if (const YamlNode *node = get("seq")) {
      size_t choice;
      if (node->isScalar())
        reader.readChoice(*node, "seq", {"dense"}, choice);
      else if (reader.checkKeys(*node, "seq", {"q", "kv", "varlen"}))
        readSeq(*node, kvGiven);
    }
    if (const YamlNode *node = get("kv"))
      readKvForm(*node, kvGiven);
  }

  void readSeq(const YamlNode &node, bool &kvGiven) {
    size_t choice;
    if (const YamlEntry *entry = SpecReader::find(node, "varlen"))
      if (reader.readChoice(entry->value, "seq.varlen", {"cu_seqlens"}, choice))
        spec.seq = SpecSeq::Varlen;
    if (const YamlEntry *entry = SpecReader::find(node, "kv")) {
      kvGiven = true;
      if (spec.seq == SpecSeq::Varlen)
        reader.error(entry->keyLoc,
                     "seq has both 'varlen' and 'kv'; with varlen, the lengths of keys come "
                     "from cu_seqlens_kv: remove one");
      else if (reader.readChoice(entry->value, "seq.kv", {"dense", "lens"}, choice))
        spec.seq = choice ? SpecSeq::KvLens : SpecSeq::Dense;
    }
    if (const YamlEntry *entry = SpecReader::find(node, "q"))
      readQueryRange(*entry);
  }

  /// `1..N`, or `N` for the same.
  void readQueryRange(const YamlEntry &entry) {
    places["seq"] = entry.value.loc;
    if (spec.kind == SpecKind::Prefill) {
      reader.error(entry.keyLoc,
                   "a prefill takes any number of queries; remove 'q', or use 'kind: decode'");
      return;
    }
    const YamlNode &node = entry.value;
    if (!node.isScalar() || node.quoted) {
      reader.error(node.loc,
                   "seq.q is a range such as 1..8, without quotes; found " + describe(node));
      return;
    }
    StringRef text = node.value;
    size_t dots = text.find("..");
    if (dots == StringRef::npos) {
      reader.readInt(node, "seq.q", 1, kAnyInt, spec.maxQ);
      return;
    }
    int64_t low;
    if (reader.readInt(text.take_front(dots), node.loc, "the lower end of seq.q", 1, 1, low))
      reader.readInt(text.drop_front(dots + 2), node.locOf(dots + 2), "the upper end of seq.q", 1,
                     kAnyInt, spec.maxQ);
  }

  /// `dense`, `paged(page=N)` or `{paged: {page: N}}`.
  void readKvForm(const YamlNode &node, bool kvGiven) {
    int64_t page = 0;
    if (node.isMapping()) {
      if (!reader.checkKeys(node, "kv", {"paged"}) || node.entries.empty() ||
          !reader.checkKeys(node.entries[0].value, "kv.paged", {"page"}))
        return;
      const YamlEntry *entry = SpecReader::find(node.entries[0].value, "page");
      if (!entry) {
        reader.error(node.loc, "kv.paged lacks 'page'; write 'kv: paged(page=16)'");
        return;
      }
      if (!reader.readInt(entry->value, "the page size", 0, kAnyInt, page))
        return;
    } else {
      StringRef text = node.isScalar() ? StringRef(node.value) : StringRef();
      if (text == "dense")
        return;
      std::string squeezed;
      for (char c : text)
        if (c != ' ')
          squeezed += c;
      StringRef number = squeezed;
      if (!number.consume_front("paged(page=") || !number.consume_back(")")) {
        reader.error(node.loc, "kv is " + describe(node) +
                                   "; it must be dense or paged(page=N), such as paged(page=16)");
        return;
      }
      if (!reader.readInt(number, node.loc, "the page size", 0, kAnyInt, page))
        return;
    }
    spec.pageSize = page;
    if (spec.seq == SpecSeq::Dense && !kvGiven)
      spec.seq = SpecSeq::KvLens; // a page table says nothing without lengths
  }

  void readVariant() {
    bool argsOk = true;
    const YamlNode *args = get("args");
    if (args)
      argsOk = readArgs(reader, *args, spec.args);
    // Without the arguments every use of one would be a second, misleading error.
    if (argsOk) {
      if (const YamlNode *node = get("mask"))
        readMasks(reader, *node, spec.args, spec.masks);
      if (const YamlNode *node = get("score"))
        readScores(reader, *node, spec.args, spec.scores);
    }
    if (const YamlNode *node = get("bias")) {
      DType dtype;
      if (reader.readDType(*node, "bias", kFloatTypes, dtype))
        spec.bias = dtype;
    }
    if (const YamlNode *node = get("sinks"))
      reader.readBool(*node, "sinks", spec.sinks);
    double scale;
    if (const YamlNode *node = get("scale"))
      if (reader.readPositiveFloat(*node, "scale", scale))
        spec.scale = scale;
    if (const YamlNode *node = get("out"))
      readOutputs(*node);
    const YamlNode *split = get("split_kv");
    if (split && !(split->isScalar() && split->value == "auto")) {
      int64_t count;
      if (!split->isScalar() || split->quoted || !llvm::all_of(split->value, isDigit))
        reader.error(split->loc,
                     "split_kv must be auto or a number of splits; found " + describe(*split));
      else if (reader.readInt(*split, "split_kv", 0, kAnyInt, count))
        spec.splitKv = count;
    }
  }

  void readOutputs(const YamlNode &node) {
    std::vector<YamlNode> single;
    if (node.isScalar())
      single.push_back(node);
    else if (!node.isSequence()) {
      reader.error(node.loc, Twine("out must be [o] or [o, lse]; found ") + node.kindName());
      return;
    }
    bool seen[2] = {false, false};
    for (const YamlNode &item : node.isScalar() ? single : node.items) {
      size_t choice;
      if (!reader.readChoice(item, "an output", {"o", "lse"}, choice))
        return;
      if (seen[choice]) {
        reader.error(item.loc, "output '" + item.value + "' appears twice; keep one of them");
        return;
      }
      seen[choice] = true;
    }
    if (!seen[0])
      reader.error(node.loc, "out lacks 'o', which every attention has; write [o] or [o, lse]");
    spec.lse = seen[1];
  }

  void checkLimits() {
    for (const SpecFault &fault : verifySpec(spec)) {
      SMLoc loc;
      if (fault.loc.line)
        loc = sources.FindLocForLineAndColumn(sources.getMainFileID(), fault.loc.line,
                                              fault.loc.column);
      auto place = places.find(fault.key);
      if (place == places.end())
        place = places.find(StringRef(fault.key).split('.').first);
      if (!loc.isValid())
        loc = place == places.end() ? root->loc : place->second;
      reader.error(loc, fault.message);
    }
    // Normal spacing may be longer than what was written.
    size_t length = reader.errorCount() ? 0 : printSpec(spec).size();
    if (length > kMaxSpecBytes)
      reader.error(root->loc, "the spec is " + Twine(length) +
                                  " bytes long in canonical form; at most " + Twine(kMaxSpecBytes) +
                                  " are allowed");
  }

  /// An argument that nothing uses must still be passed at every launch.
  void warnUnusedArgs() {
    llvm::StringSet<> used;
    for (const SpecMask &mask : spec.masks) {
      used.insert(mask.arg);
      if (mask.expression)
        collectNames(*mask.expression->root, used);
    }
    for (const SpecScore &score : spec.scores) {
      used.insert(score.arg);
      if (score.expression)
        collectNames(*score.expression->root, used);
    }
    for (const SpecArg &arg : spec.args)
      if (!used.contains(arg.name))
        reader.warning(
            sources.FindLocForLineAndColumn(sources.getMainFileID(), arg.loc.line, arg.loc.column),
            "argument '" + arg.name + "' is not used by mask or score");
  }

  static void collectNames(const ExprNode &node, llvm::StringSet<> &names) {
    names.insert(node.name);
    for (const auto &operand : node.operands)
      collectNames(*operand, names);
  }

  SourceMgr &sources;
  SpecReader reader;
  Spec spec;
  const YamlNode *root = nullptr;
  /// Where each key's value is, for limits that are checked afterwards.
  StringMap<SMLoc> places;
};

/// Error about a file as a whole.
std::nullopt_t fileError(SourceMgr &sources, StringRef path, const Twine &message) {
  sources.PrintMessage(errs(), SMDiagnostic(path, SourceMgr::DK_Error, message.str()));
  return std::nullopt;
}

/// Reads at most `limit` + 1 bytes, so that a device or an endless pipe does no harm.
std::error_code readLimited(sys::fs::file_t file, size_t limit, SmallVectorImpl<char> &out) {
  while (out.size() <= limit) {
    size_t old = out.size();
    out.resize_for_overwrite(old + 16384);
    Expected<size_t> got =
        sys::fs::readNativeFile(file, MutableArrayRef<char>(out).drop_front(old));
    if (!got)
      return errorToErrorCode(got.takeError());
    out.truncate(old + *got);
    if (*got == 0)
      break;
  }
  return {};
}

} // namespace

std::optional<Spec> parseSpec(SourceMgr &sources) { return SpecParser(sources).run(); }

std::optional<Spec> parseSpecText(StringRef text, StringRef name, SourceMgr &sources) {
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(text, name), SMLoc());
  return parseSpec(sources);
}

std::optional<Spec> parseSpecFile(StringRef path, SourceMgr &sources) {
  SmallVector<char, 0> text;
  std::error_code failure;
  if (path == "-") {
    failure = readLimited(sys::fs::getStdinHandle(), kMaxSpecBytes, text);
  } else {
    if (sys::fs::is_directory(path))
      return fileError(sources, path,
                       "is a directory; give a spec file, such as examples/llama3-8b-prefill.yaml");
    Expected<sys::fs::file_t> file = sys::fs::openNativeFileForRead(path);
    if (!file)
      return fileError(sources, path, "cannot read the spec: " + toString(file.takeError()));
    failure = readLimited(*file, kMaxSpecBytes, text);
    (void)sys::fs::closeFile(*file);
  }
  StringRef name = path == "-" ? StringRef("<stdin>") : path;
  if (failure)
    return fileError(sources, name, "cannot read the spec: " + failure.message());
  if (text.size() > kMaxSpecBytes)
    return fileError(sources, name,
                     "the spec is longer than " + Twine(kMaxSpecBytes) +
                         " bytes, the most allowed");
  return parseSpecText(StringRef(text.data(), text.size()), name, sources);
}

std::string Spec::symbolName() const {
  std::string symbol = name;
  std::replace(symbol.begin(), symbol.end(), '-', '_');
  return symbol;
}

double Spec::scaleValue() const {
  return scale ? *scale : 1.0 / std::sqrt(static_cast<double>(dimQk));
}

const SpecArg *Spec::findArg(StringRef argName) const {
  for (const SpecArg &arg : args)
    if (arg.name == argName)
      return &arg;
  return nullptr;
}

} // namespace attnc
