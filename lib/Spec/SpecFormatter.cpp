// Canonical text that keeps a file's comments.
#include "attnc/Spec/Spec.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace attnc {
namespace {

/// The top-level key that a line opens; empty for any other line.
StringRef keyOf(StringRef line) {
  StringRef key = line.split(':').first;
  bool word = !key.empty() && key.size() < line.size() &&
              all_of(key, [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
  return word ? key : StringRef();
}

struct Comments {
  SmallVector<std::string> above;
  std::string beside;
};

} // namespace

// No value of a valid spec contains '#', so each one in the file starts a comment.
std::string formatSpec(const Spec &spec, StringRef source) {
  std::string canonical = printSpec(spec);
  StringMap<bool> printed;
  SmallVector<StringRef> lines;
  StringRef(canonical).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (StringRef key = keyOf(line); !key.empty())
      printed[key] = true;

  StringMap<Comments> comments;
  SmallVector<std::string> pending; // comments that go above the next key that is printed
  SmallVector<StringRef> sourceLines;
  source.consume_front("\xEF\xBB\xBF");
  source.split(sourceLines, '\n');
  StringRef current;
  for (StringRef line : sourceLines) {
    auto [code, comment] = line.rtrim().split('#');
    bool hasComment = line.contains('#');
    std::string text = ("#" + comment).str();
    if (StringRef key = keyOf(code); !key.empty()) {
      current = printed.contains(key) ? key : StringRef();
      if (!current.empty()) {
        comments[current].above = std::move(pending);
        pending.clear();
      }
      if (hasComment && !current.empty())
        comments[current].beside = text;
      else if (hasComment)
        pending.push_back(text);
    } else if (hasComment) {
      // Within a key's value the comment is about that key; on a line of its own, about the next.
      if (!code.trim().empty() && !current.empty())
        comments[current].above.push_back(text);
      else
        pending.push_back(text);
    }
  }

  std::string out;
  for (StringRef line : lines) {
    StringRef key = keyOf(line);
    const Comments found = key.empty() ? Comments() : comments.lookup(key);
    for (const std::string &text : found.above)
      out += text + "\n";
    out += line;
    if (!found.beside.empty())
      out += "  " + found.beside;
    out += "\n";
  }
  for (const std::string &text : pending)
    out += text + "\n";
  return out;
}

} // namespace attnc
