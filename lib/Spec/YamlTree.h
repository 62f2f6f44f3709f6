// A small located tree of the YAML subset that specs use: mappings, sequences, scalars. Limits and
// refusals (anchors, tags, several documents, size, nesting, encoding) are here; keys and values
// are the reader's business (SpecReader.h).
#ifndef ATTNC_LIB_SPEC_YAMLTREE_H
#define ATTNC_LIB_SPEC_YAMLTREE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SourceMgr.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnc {

/// Longest spec file, deepest nesting, most nodes.
inline constexpr size_t kMaxSpecBytes = 64 * 1024;
inline constexpr unsigned kMaxYamlDepth = 16;
inline constexpr unsigned kMaxYamlNodes = 4096;

struct YamlEntry;

struct YamlNode {
  enum class Kind { Null, Scalar, Sequence, Mapping };
  Kind kind = Kind::Null;
  /// Where it starts in the buffer (for a scalar, at the quote if it has one).
  llvm::SMLoc loc;
  /// A scalar's value, and its exact text in the file.
  std::string value;
  llvm::StringRef raw;
  bool quoted = false;
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;

  bool isScalar() const { return kind == Kind::Scalar; }
  bool isMapping() const { return kind == Kind::Mapping; }
  bool isSequence() const { return kind == Kind::Sequence; }
  /// "a mapping", "a list", …: for messages.
  const char *kindName() const;
  /// Place in the file of the value's byte `offset`: exact but inside escape sequences.
  llvm::SMLoc locOf(size_t offset) const;
};

struct YamlEntry {
  std::string key;
  llvm::SMLoc keyLoc;
  YamlNode value;
};

/// Reads the main buffer of `sources`. Empty after an error, which has been printed through it.
std::optional<YamlNode> readYaml(llvm::SourceMgr &sources);

} // namespace attnc

#endif // ATTNC_LIB_SPEC_YAMLTREE_H
