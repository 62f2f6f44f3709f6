// Reading scalars of a spec with errors that say what to write instead.
#include "SpecReader.h"

#include "llvm/ADT/StringExtras.h"

#include <cfloat>
#include <cmath>
#include <cstdlib>

using namespace llvm;

namespace attnc {

std::string joinChoices(ArrayRef<StringRef> names) {
  std::string text;
  for (auto [index, name] : llvm::enumerate(names)) {
    if (index)
      text += index + 1 == names.size() ? " or " : ", ";
    text += name;
  }
  return text;
}

std::string describe(const YamlNode &node) {
  if (!node.isScalar())
    return node.kindName();
  return ("'" + StringRef(node.value).take_front(64) + "'").str();
}

bool SpecReader::error(SMLoc loc, const Twine &message) {
  ++errors;
  sources.PrintMessage(loc, SourceMgr::DK_Error, message);
  return false;
}

void SpecReader::warning(SMLoc loc, const Twine &message) {
  sources.PrintMessage(loc, SourceMgr::DK_Warning, message);
}

SpecLoc SpecReader::locate(SMLoc loc) const {
  if (!loc.isValid())
    return {};
  auto [line, column] = sources.getLineAndColumn(loc, sources.getMainFileID());
  return {line, column};
}

const YamlEntry *SpecReader::find(const YamlNode &mapping, StringRef key) {
  for (const YamlEntry &entry : mapping.entries)
    if (entry.key == key)
      return &entry;
  return nullptr;
}

bool SpecReader::checkKeys(const YamlNode &mapping, StringRef what, ArrayRef<StringRef> known) {
  if (!mapping.isMapping())
    return error(mapping.loc, what + " is a mapping with the keys " + joinChoices(known) +
                                  "; found " + mapping.kindName());
  bool ok = true;
  for (const YamlEntry &entry : mapping.entries)
    if (!is_contained(known, entry.key))
      ok = error(entry.keyLoc, "unknown key '" + StringRef(entry.key).take_front(64) + "' in " +
                                   what + didYouMean(entry.key, known) +
                                   "; allowed: " + joinChoices(known));
  return ok;
}

bool SpecReader::readInt(StringRef text, SMLoc loc, StringRef what, int64_t low, int64_t high,
                         int64_t &out) {
  std::string range = std::to_string(low) + " to " + std::to_string(high);
  StringRef digits = text;
  digits.consume_front("-");
  if (digits.empty() || !all_of(digits, isDigit) || (digits.size() > 1 && digits.front() == '0'))
    return error(loc,
                 what + " is '" + text.take_front(64) + "'; it must be an integer from " + range);
  if (text.getAsInteger(10, out) || out < low || out > high)
    return error(loc, what + " is " + text.take_front(64) + "; allowed are integers from " + range);
  return true;
}

bool SpecReader::readInt(const YamlNode &node, StringRef what, int64_t low, int64_t high,
                         int64_t &out) {
  if (!node.isScalar())
    return error(node.loc, what + " must be an integer from " + Twine(low) + " to " + Twine(high) +
                               "; found " + node.kindName());
  if (node.quoted)
    return error(node.loc, what + " is a quoted string; write the integer without quotes");
  return readInt(node.value, node.loc, what, low, high, out);
}

bool SpecReader::readPositiveFloat(const YamlNode &node, StringRef what, double &out) {
  if (!node.isScalar() || node.quoted)
    return error(node.loc, what + " must be a number above zero, such as 0.125; found " +
                               (node.quoted ? "a quoted string" : node.kindName()));
  StringRef text = node.value;
  bool plain = !text.empty() &&
               all_of(text, [](char c) { return isDigit(c) || StringRef("+-.eE").contains(c); });
  char *end = nullptr;
  float value = plain ? std::strtof(node.value.c_str(), &end) : 0;
  if (!plain || *end)
    return error(node.loc, what + " is '" + text.take_front(64) +
                               "'; it must be a number above zero, such as 0.125");
  if (!(value >= FLT_MIN) || !std::isfinite(value))
    return error(node.loc, what + " is " + text.take_front(64) +
                               "; it must be above zero and finite in f32 (1.2e-38 to 3.4e38)");
  out = value;
  return true;
}

bool SpecReader::readBool(const YamlNode &node, StringRef what, bool &out) {
  if (node.isScalar() && !node.quoted && (node.value == "true" || node.value == "false")) {
    out = node.value == "true";
    return true;
  }
  return error(node.loc, what + " must be true or false; found " + describe(node));
}

bool SpecReader::readChoice(const YamlNode &node, StringRef what, ArrayRef<StringRef> allowed,
                            size_t &out) {
  if (!node.isScalar())
    return error(node.loc,
                 what + " must be " + joinChoices(allowed) + "; found " + node.kindName());
  for (auto [index, name] : llvm::enumerate(allowed)) {
    if (name == node.value) {
      out = index;
      return true;
    }
  }
  return error(node.loc, what + " is '" + StringRef(node.value).take_front(64) + "'; it must be " +
                             joinChoices(allowed) + didYouMean(node.value, allowed));
}

bool SpecReader::readDType(StringRef text, SMLoc loc, StringRef what, ArrayRef<DType> allowed,
                           DType &out) {
  SmallVector<StringRef> names;
  for (DType dtype : allowed)
    names.push_back(dtypeName(dtype));
  if (parseDType(text.str(), out) && is_contained(allowed, out))
    return true;
  return error(loc, what + " is '" + text.take_front(64) + "'; it must be " + joinChoices(names) +
                        didYouMean(text, names));
}

bool SpecReader::readDType(const YamlNode &node, StringRef what, ArrayRef<DType> allowed,
                           DType &out) {
  if (!node.isScalar())
    return error(node.loc, what + " must be the name of an element type; found " + node.kindName());
  return readDType(node.value, node.loc, what, allowed, out);
}

} // namespace attnc
