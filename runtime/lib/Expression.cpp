// Expressions as postfix programs: building, JSON, checked evaluation.
#include "attnc/Runtime/Expression.h"

#include "CheckedMath.h"
#include "ExpressionJson.h"
#include "StatusFormat.h"

#include <algorithm>
#include <optional>

namespace attnc::rt {
namespace {

struct OpName {
  Expression::Op op;
  const char *name;
};

constexpr OpName binaryOps[] = {
    {Expression::Op::Add, "add"}, {Expression::Op::Sub, "sub"},
    {Expression::Op::Mul, "mul"}, {Expression::Op::CeilDiv, "ceildiv"},
    {Expression::Op::Min, "min"}, {Expression::Op::Max, "max"},
};

const char *opName(Expression::Op op) {
  for (const OpName &entry : binaryOps)
    if (entry.op == op)
      return entry.name;
  return "?";
}

std::optional<std::int64_t> apply(Expression::Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case Expression::Op::Add:
    return checkedAdd(a, b);
  case Expression::Op::Sub:
    return checkedSub(a, b);
  case Expression::Op::Mul:
    return checkedMul(a, b);
  case Expression::Op::CeilDiv:
    return ceilDiv(a, b);
  case Expression::Op::Min:
    return std::min(a, b);
  case Expression::Op::Max:
    return std::max(a, b);
  default:
    return std::nullopt;
  }
}

} // namespace

/// Appends a JSON tree to a program, depth first. The depth of the tree bounds the operand stack.
class ExpressionBuilder {
public:
  Status append(const Json &json, std::size_t depth) {
    if (depth > Expression::maxDepth)
      return invalidArgument("expression is nested deeper than {} levels", Expression::maxDepth);
    if (result.program.size() >= Expression::maxSteps)
      return invalidArgument("expression has more than {} parts", Expression::maxSteps);
    if (json.is_number_integer()) {
      if (json.is_number_unsigned() &&
          json.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max()))
        return invalidArgument("{} does not fit in 64 bits", json.dump());
      result.program.push_back({Expression::Op::Integer, json.get<std::int64_t>(), {}});
      return {};
    }
    if (json.is_string()) {
      const auto &name = json.get_ref<const std::string &>();
      if (name.empty() || name.size() > 64)
        return invalidArgument("a symbol has 1 to 64 characters, found {}", name.size());
      result.program.push_back({Expression::Op::Symbol, 0, name});
      return {};
    }
    if (!json.is_array() || json.size() != 3 || !json[0].is_string())
      return invalidArgument(
          "an expression is an integer, a symbol or [\"add|sub|mul|ceildiv|min|max\", a, b]; "
          "found {}",
          json.is_array() ? fmt::format("an array of {}", json.size()) : describeJson(json));
    const auto &name = json[0].get_ref<const std::string &>();
    const auto *entry =
        std::find_if(std::begin(binaryOps), std::end(binaryOps),
                     [&](const OpName &candidate) { return name == candidate.name; });
    if (entry == std::end(binaryOps))
      return invalidArgument("unknown operation '{}'; allowed are add, sub, mul, ceildiv, min, max",
                             name.substr(0, 64));
    for (std::size_t operand : {1, 2})
      if (Status status = append(json[operand], depth + 1); !status.ok())
        return status;
    result.program.push_back({entry->op, 0, {}});
    return {};
  }

  Expression take() { return std::move(result); }

  ExpressionBuilder() { result.program.clear(); }

private:
  Expression result;
};

Result<Expression> expressionFromJson(const Json &json) {
  ExpressionBuilder builder;
  if (Status status = builder.append(json, 1); !status.ok())
    return status;
  return builder.take();
}

Json expressionToJson(const Expression &expression) {
  std::vector<Json> stack;
  for (const Expression::Step &step : expression.steps()) {
    if (step.op == Expression::Op::Integer) {
      stack.emplace_back(step.value);
    } else if (step.op == Expression::Op::Symbol) {
      stack.emplace_back(step.symbol);
    } else {
      Json b = std::move(stack.back());
      stack.pop_back();
      Json a = std::move(stack.back());
      stack.back() = Json::array({opName(step.op), std::move(a), std::move(b)});
    }
  }
  return stack.back();
}

Expression::Expression(std::int64_t value) : program{{Op::Integer, value, {}}} {}

Expression Expression::symbol(std::string name) {
  Expression result;
  result.program = {{Op::Symbol, 0, std::move(name)}};
  return result;
}

Expression Expression::binary(Op op, Expression a, Expression b) {
  for (Step &step : b.program)
    a.program.push_back(std::move(step));
  a.program.push_back({op, 0, {}});
  return a;
}

Expression Expression::add(Expression a, Expression b) {
  return binary(Op::Add, std::move(a), std::move(b));
}
Expression Expression::sub(Expression a, Expression b) {
  return binary(Op::Sub, std::move(a), std::move(b));
}
Expression Expression::mul(Expression a, Expression b) {
  return binary(Op::Mul, std::move(a), std::move(b));
}
Expression Expression::min(Expression a, Expression b) {
  return binary(Op::Min, std::move(a), std::move(b));
}
Expression Expression::max(Expression a, Expression b) {
  return binary(Op::Max, std::move(a), std::move(b));
}
Expression Expression::ceilDiv(Expression a, Expression b) {
  return binary(Op::CeilDiv, std::move(a), std::move(b));
}

Result<Expression> Expression::parse(std::string_view json) {
  Result<Json> parsed = parseJson(json, "expression");
  if (!parsed)
    return parsed.status();
  return expressionFromJson(*parsed);
}

std::string Expression::toJson() const { return expressionToJson(*this).dump(); }

Result<std::int64_t> Expression::evaluate(const SymbolTable &symbols) const {
  std::vector<std::int64_t> stack;
  for (const Step &step : program) {
    if (step.op == Op::Integer) {
      stack.push_back(step.value);
      continue;
    }
    if (step.op == Op::Symbol) {
      auto it = symbols.find(step.symbol);
      if (it == symbols.end())
        return invalidArgument("expression {} names '{}', which has no value here", toJson(),
                               step.symbol);
      stack.push_back(it->second);
      continue;
    }
    const std::int64_t b = stack.back();
    stack.pop_back();
    const std::int64_t a = stack.back();
    if (step.op == Op::CeilDiv && b < 1)
      return invalidArgument("expression {} divides by {}; the divisor must be 1 or more", toJson(),
                             b);
    std::optional<std::int64_t> value = apply(step.op, a, b);
    if (!value)
      return invalidArgument("expression {} overflows 64 bits at {} of {} and {}", toJson(),
                             opName(step.op), a, b);
    stack.back() = *value;
  }
  return stack.back();
}

std::vector<std::string> Expression::symbols() const {
  std::vector<std::string> result;
  for (const Step &step : program)
    if (step.op == Op::Symbol &&
        std::find(result.begin(), result.end(), step.symbol) == result.end())
      result.push_back(step.symbol);
  return result;
}

const std::vector<std::string> &packageSymbols() {
  static const std::vector<std::string> names = {"batch",      "heads_q", "heads_kv", "max_len_q",
                                                 "max_len_kv", "splits",  "total_q",  "total_kv",
                                                 "multiprocessors"};
  return names;
}

} // namespace attnc::rt
