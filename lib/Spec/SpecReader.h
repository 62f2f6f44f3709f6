// Typed, located access to the YAML tree of a spec: every error names what was found, what is
// allowed and what to do. What the keys mean is in SpecParser.cpp and SpecVariantParser.cpp.
#ifndef ATTNC_LIB_SPEC_SPECREADER_H
#define ATTNC_LIB_SPEC_SPECREADER_H

#include "YamlTree.h"
#include "attnc/Spec/Spec.h"
#include "attnc/Support/NearestName.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"

namespace attnc {

class SpecReader {
public:
  explicit SpecReader(llvm::SourceMgr &sources) : sources(sources) {}

  /// Prints an error and counts it; always false.
  bool error(llvm::SMLoc loc, const llvm::Twine &message);
  void warning(llvm::SMLoc loc, const llvm::Twine &message);
  unsigned errorCount() const { return errors; }

  /// Line and column in the spec file.
  SpecLoc locate(llvm::SMLoc loc) const;

  /// Null if `mapping` lacks the key.
  static const YamlEntry *find(const YamlNode &mapping, llvm::StringRef key);
  /// Reports keys that are not among `known`, and a node that is no mapping.
  bool checkKeys(const YamlNode &mapping, llvm::StringRef what,
                 llvm::ArrayRef<llvm::StringRef> known);

  /// A decimal integer within [low, high].
  bool readInt(const YamlNode &node, llvm::StringRef what, int64_t low, int64_t high, int64_t &out);
  bool readInt(llvm::StringRef text, llvm::SMLoc loc, llvm::StringRef what, int64_t low,
               int64_t high, int64_t &out);
  /// A number that is finite in f32 and above zero.
  bool readPositiveFloat(const YamlNode &node, llvm::StringRef what, double &out);
  /// true or false.
  bool readBool(const YamlNode &node, llvm::StringRef what, bool &out);
  /// One of `allowed`; sets its index.
  bool readChoice(const YamlNode &node, llvm::StringRef what,
                  llvm::ArrayRef<llvm::StringRef> allowed, size_t &out);
  /// An element type among `allowed`.
  bool readDType(const YamlNode &node, llvm::StringRef what, llvm::ArrayRef<DType> allowed,
                 DType &out);
  bool readDType(llvm::StringRef text, llvm::SMLoc loc, llvm::StringRef what,
                 llvm::ArrayRef<DType> allowed, DType &out);

private:
  llvm::SourceMgr &sources;
  unsigned errors = 0;
};

/// `args` of a spec; returns false after an error.
bool readArgs(SpecReader &reader, const YamlNode &node, std::vector<SpecArg> &args);
/// `mask` and `score`; `args` are the spec's, read before.
bool readMasks(SpecReader &reader, const YamlNode &node, llvm::ArrayRef<SpecArg> args,
               std::vector<SpecMask> &masks);
bool readScores(SpecReader &reader, const YamlNode &node, llvm::ArrayRef<SpecArg> args,
                std::vector<SpecScore> &scores);

/// What was found, for messages: a scalar's text in quotes and cut short, else the kind of node.
std::string describe(const YamlNode &node);

/// "a, b or c".
std::string joinChoices(llvm::ArrayRef<llvm::StringRef> names);

} // namespace attnc

#endif // ATTNC_LIB_SPEC_SPECREADER_H
