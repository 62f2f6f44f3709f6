// Parses and evaluates size expressions.
#include "SizeExpr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc {

static bool isOperator(StringRef name) {
  return llvm::is_contained({"add", "sub", "mul", "ceildiv", "min", "max"}, name);
}

static std::string printed(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

bool SizeExpr::parse(Attribute attribute, SizeExpr &result, std::string &error) {
  result = SizeExpr();
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    result.value = integer.getInt();
    return true;
  }
  if (auto symbol = dyn_cast<StringAttr>(attribute)) {
    result.name = symbol.getValue().str();
    return true;
  }
  auto list = dyn_cast<ArrayAttr>(attribute);
  auto name = list && list.size() == 3 ? dyn_cast<StringAttr>(list[0]) : StringAttr();
  if (!name || !isOperator(name.getValue())) {
    error = "size expression " + printed(attribute) +
            "; allowed: an integer, a symbol, or [add|sub|mul|ceildiv|min|max, a, b]";
    return false;
  }
  result.name = name.getValue().str();
  result.operands.resize(2);
  return parse(list[1], result.operands[0], error) && parse(list[2], result.operands[1], error);
}

bool SizeExpr::evaluate(const ProblemSizes &sizes, int64_t &result, std::string &error) const {
  if (operands.empty()) {
    result = value;
    if (name.empty())
      return true;
    auto found = sizes.find(name);
    if (found == sizes.end()) {
      error = "size '" + name + "' is not given";
      return false;
    }
    result = found->second;
    return true;
  }
  int64_t a = 0, b = 0;
  if (!operands[0].evaluate(sizes, a, error) || !operands[1].evaluate(sizes, b, error))
    return false;
  bool overflow = false;
  if (name == "add")
    overflow = llvm::AddOverflow(a, b, result);
  else if (name == "sub")
    overflow = llvm::SubOverflow(a, b, result);
  else if (name == "mul")
    overflow = llvm::MulOverflow(a, b, result);
  else if (name == "min")
    result = std::min(a, b);
  else if (name == "max")
    result = std::max(a, b);
  else if (b <= 0 || a < 0) {
    error = "ceildiv(" + std::to_string(a) + ", " + std::to_string(b) +
            ") needs a dividend of at least 0 and a divisor of at least 1";
    return false;
  } else
    result = a / b + (a % b != 0);
  if (overflow)
    error = name + "(" + std::to_string(a) + ", " + std::to_string(b) + ") exceeds 64 bits";
  return !overflow;
}

} // namespace attnc
