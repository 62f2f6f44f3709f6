// Integer expressions of package manifests (grid sizes, workspace shapes): parse, print, evaluate.
// Checked 64-bit arithmetic. Not a general expression language: no user input reaches it except
// through a package.
//
// Example, by hand: ["mul", "batch", ["ceildiv", "max_len_q", 128]] with batch = 3 and
// max_len_q = 300 is 3 * 3 = 9.
#ifndef ATTNC_RUNTIME_EXPRESSION_H
#define ATTNC_RUNTIME_EXPRESSION_H

#include "attnc/Runtime/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

/// Values of the symbols an expression may name.
using SymbolTable = std::map<std::string, std::int64_t, std::less<>>;

/// An immutable expression. Default-constructed it is the constant 0.
class Expression {
public:
  enum class Op : std::uint8_t { Integer, Symbol, Add, Sub, Mul, CeilDiv, Min, Max };

  /// One step of the postfix program. `value` is for Integer, `symbol` for Symbol.
  struct Step {
    Op op = Op::Integer;
    std::int64_t value = 0;
    std::string symbol;
  };

  /// Longest program and deepest operand stack that a manifest may ask for.
  static constexpr std::size_t maxSteps = 512;
  static constexpr std::size_t maxDepth = 24;

  Expression() : program(1) {}
  Expression(std::int64_t value);
  static Expression symbol(std::string name);
  static Expression add(Expression a, Expression b);
  static Expression sub(Expression a, Expression b);
  static Expression mul(Expression a, Expression b);
  static Expression min(Expression a, Expression b);
  static Expression max(Expression a, Expression b);
  /// a / b rounded towards plus infinity; evaluating it needs b > 0.
  static Expression ceilDiv(Expression a, Expression b);

  /// Parses the JSON form: an integer, a symbol's name, or [op, a, b].
  /// \returns InvalidArgument naming the offending part.
  static Result<Expression> parse(std::string_view json);

  /// The JSON form, on one line.
  std::string toJson() const;

  /// \returns InvalidArgument for an unknown symbol, an overflow of 64 bits or a division by a
  /// number below 1; the message holds the expression.
  Result<std::int64_t> evaluate(const SymbolTable &symbols) const;

  /// Every symbol named, each once.
  std::vector<std::string> symbols() const;

  const std::vector<Step> &steps() const { return program; }

private:
  friend class ExpressionBuilder;
  static Expression binary(Op op, Expression a, Expression b);

  std::vector<Step> program;
};

/// The symbols that packages may use; `Package::validate` refuses others.
/// batch, heads_q, heads_kv, max_len_q, max_len_kv, splits, total_q, total_kv, and multiprocessors:
/// those of the device, or 2^31 − 1 where there is none.
const std::vector<std::string> &packageSymbols();

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_EXPRESSION_H
