// The expression language: normal text, types, faults.
#include "attnc/Spec/Expression.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

std::vector<SpecArg> testArgs() {
  std::vector<SpecArg> args(6);
  args[0].name = "cap";
  args[1].name = "win";
  args[1].dtype = DType::I32;
  args[2].name = "rel";
  args[2].shape = {8, -1};
  args[3].name = "doc";
  args[3].dtype = DType::I32;
  args[3].shape = {-1, -1};
  args[4].name = "flag";
  args[4].dtype = DType::Bool;
  args[4].shape = {-1};
  args[5].name = "half";
  args[5].dtype = DType::F16;
  args[5].shape = {-1};
  return args;
}

struct Result {
  std::string text, error;
  size_t offset = 0;
};

Result parseAs(ExprRole role, const std::string &text) {
  Result result;
  auto expression = parseExpression(
      text, role, testArgs(), [](size_t) { return SpecLoc(); },
      [&](size_t offset, const std::string &message) {
        result.offset = offset;
        result.error = message;
      });
  EXPECT_EQ(expression == nullptr, !result.error.empty());
  if (expression)
    result.text = expression->text;
  return result;
}

/// Normal text of a valid expression, which must be its own normal text.
std::string normal(ExprRole role, const std::string &text) {
  Result first = parseAs(role, text);
  EXPECT_EQ(first.error, "") << text;
  Result second = parseAs(role, first.text);
  EXPECT_EQ(second.error, "") << first.text;
  EXPECT_EQ(second.text, first.text);
  return first.text;
}
std::string mask(const std::string &text) { return normal(ExprRole::Mask, text); }
std::string score(const std::string &text) { return normal(ExprRole::Score, text); }

void expectFault(ExprRole role, const std::string &text, size_t offset, const std::string &wanted) {
  Result result = parseAs(role, text);
  EXPECT_NE(result.error.find(wanted), std::string::npos) << text << ": " << result.error;
  EXPECT_EQ(result.offset, offset) << text << ": " << result.error;
}

TEST(Expression, PrecedenceIsPythons) {
  EXPECT_EQ(mask("q_pos>=kv_pos and q_pos-kv_pos<win or b==0"),
            "q_pos >= kv_pos and q_pos - kv_pos < win or b == 0");
  EXPECT_EQ(mask("(b == 0 or h == 1) and not (b > 1)"), "(b == 0 or h == 1) and not b > 1");
  EXPECT_EQ(mask("not b == 0 and h == 0"), "not b == 0 and h == 0");
  EXPECT_EQ(mask("(not b == 0) == (h == 0)"), "(not b == 0) == (h == 0)");
  EXPECT_EQ(score("s - (s - s)"), "s - (s - s)");
  EXPECT_EQ(score("(s - s) - s"), "s - s - s");
  EXPECT_EQ(score("s * (s + s) / s"), "s * (s + s) / s");
  EXPECT_EQ(score("s / (s * s)"), "s / (s * s)");
  EXPECT_EQ(score("-(s + 1)"), "-(s + 1.0)");
  EXPECT_EQ(score("-s * -2"), "-s * -2.0");
  EXPECT_EQ(score("s + (0 - h)"), "s + -h");
  EXPECT_EQ(score("s if b > 0 else s + 1 if h > 0 else 0"),
            "s if b > 0 else s + 1.0 if h > 0 else 0.0");
  EXPECT_EQ(score("(s if b > 0 else 0) + (1 if h > 0 else 2)"),
            "(s if b > 0 else 0.0) + (1 if h > 0 else 2)");
  EXPECT_EQ(score("(s if b > 0 else 1) if h > 0 else 2"),
            "(s if b > 0 else 1.0) if h > 0 else 2.0");
}

TEST(Expression, FunctionsHaveOneNormalForm) {
  EXPECT_EQ(score("where(b > 0, s, 0)"), "s if b > 0 else 0.0");
  EXPECT_EQ(score("min(min(s, 1), 2.5)"), "min(s, 1.0, 2.5)");
  EXPECT_EQ(score("max(s, max(1, h))"), "max(s, max(1, h))");
  EXPECT_EQ(score("floor(s / 2)"), "s // 2.0");
  EXPECT_EQ(score("cap*tanh(s/cap)"), "cap * tanh(s / cap)");
  EXPECT_EQ(score("exp(s)+exp2(s)+log(s)+log2(s)+sqrt(abs(s))"),
            "exp(s) + exp2(s) + log(s) + log2(s) + sqrt(abs(s))");
}

TEST(Expression, PromotionIsImplicitInNormalText) {
  EXPECT_EQ(score("s + float(h)"), "s + h");
  EXPECT_EQ(score("float(h) / float(b)"), "h / b");
  EXPECT_EQ(score("float(h) + float(b)"), "float(h) + b");
  EXPECT_EQ(score("h"), "h");
  EXPECT_EQ(score("s + float(b > 0)"), "s + float(b > 0)");
  EXPECT_EQ(score("int(s) % 2"), "int(s) % 2");
  EXPECT_EQ(score("int(h)"), "h");
  EXPECT_EQ(score("sqrt(float(h))"), "sqrt(h)");
  EXPECT_EQ(mask("float(h) < float(b)"), "float(h) < b");
}

TEST(Expression, LookupsAreTyped) {
  EXPECT_EQ(score("s + rel[h, kv_pos - q_pos + win]"), "s + rel[h, kv_pos - q_pos + win]");
  EXPECT_EQ(mask("doc[b, q_pos] == doc[b, kv_pos] and flag[kv_pos]"),
            "doc[b, q_pos] == doc[b, kv_pos] and flag[kv_pos]");
  EXPECT_EQ(score("half[h] * s"), "half[h] * s");
  expectFault(ExprRole::Score, "s + rel[h]", 4, "'rel' has rank 2, found 1 indices");
  expectFault(ExprRole::Score, "s + rel[h, b, b]", 4, "'rel' has rank 2, found more indices");
  expectFault(ExprRole::Score, "rel[h, s]", 7, "an index is i32, found f32");
  expectFault(ExprRole::Score, "rel + s", 0, "'rel' is a tensor of rank 2; index it");
  expectFault(ExprRole::Score, "cap[h]", 3, "'cap' is a scalar");
}

TEST(Expression, TypeFaultsPointAtTheOperand) {
  expectFault(ExprRole::Mask, "q_pos - kv_pos", 0,
              "a mask yields bool (true = visible), found i32");
  expectFault(ExprRole::Score, "b > 0", 0, "a score yields f32, found bool");
  expectFault(ExprRole::Mask, "q_pos > 0 and kv_pos", 14,
              "'and' takes bool, found i32; compare it");
  expectFault(ExprRole::Score, "s + (b > 0)", 4, "arithmetic takes numbers, found bool");
  expectFault(ExprRole::Mask, "s > 0", 0, "a mask cannot see the score 's'");
  expectFault(ExprRole::Mask, "not q_pos", 4, "'not' takes bool");
  expectFault(ExprRole::Score, "s if h else 0", 5, "a condition takes bool, found i32");
  expectFault(ExprRole::Score, "s if b > 0 else h > 0", 16,
              "the two branches have types f32 and bool");
  expectFault(ExprRole::Mask, "kv_pos // 0 > 1", 10, "division by the constant 0");
}

TEST(Expression, SyntaxFaultsSayWhatToWrite) {
  expectFault(ExprRole::Mask, "0 < b < 4", 6,
              "comparisons cannot be chained; write 'a < b and b < c'");
  expectFault(ExprRole::Mask, "b > 0 && h > 0", 6, "'&' is not an operator; write 'and'");
  expectFault(ExprRole::Mask, "b > 0 || h > 0", 6, "'|' is not an operator; write 'or'");
  expectFault(ExprRole::Mask, "!(b > 0)", 0, "'!' is not an operator; write 'not'");
  expectFault(ExprRole::Mask, "b = 0", 2, "compare with '=='");
  expectFault(ExprRole::Score, "s ** 2", 2, "'**' is not an operator");
  expectFault(ExprRole::Score, "s +", 3, "found the end where a value was expected");
  expectFault(ExprRole::Score, "(s", 2, "found the end where ')' was expected");
  expectFault(ExprRole::Score, "s s", 2, "found 's' where an operator or the end");
  expectFault(ExprRole::Score, "tan(s)", 0, "unknown function 'tan'; did you mean 'tanh'?");
  expectFault(ExprRole::Score, "tanh()", 5, "tanh takes 1 operand(s), found 0");
  expectFault(ExprRole::Score, "tanh(s, s)", 8, "tanh takes at most 1");
  expectFault(ExprRole::Score, "s if b > 0", 10, "found the end where 'else' was expected");
  expectFault(ExprRole::Score, "", 0, "found the end where a value was expected");
  expectFault(ExprRole::Score, "s + 2k", 4, "found a letter after a number");
  expectFault(ExprRole::Score, "s + 1e", 4, "exponent without digits");
  expectFault(ExprRole::Score, "s + 99999999999", 4, "does not fit i32");
  expectFault(ExprRole::Score, "s + 1e99", 4, "does not fit f32");
  expectFault(ExprRole::Score, "s + caps", 4, "unknown name 'caps'; did you mean 'cap'?");
  expectFault(ExprRole::Score, "s @ 2", 2, "found '@', which no expression contains");
}

TEST(Expression, FloatTextIsTheShortestThatReadsBack) {
  EXPECT_EQ(score("s * 0.1"), "s * 0.1");
  EXPECT_EQ(score("s * 0.10000000149011612"), "s * 0.1");
  EXPECT_EQ(score("s * 1e10"), "s * 1e+10");
  EXPECT_EQ(score("s * 50."), "s * 50.0");
  EXPECT_EQ(score("s * .5"), "s * 0.5");
  EXPECT_EQ(score("s * 16777217"), "s * 16777216.0");
}

TEST(Expression, LongChainsAreRefusedNotFatal) {
  std::string chain = "s";
  for (int i = 0; i < 3000; ++i)
    chain += "+s";
  EXPECT_NE(parseAs(ExprRole::Score, chain).error, "");
  std::string fair = "s";
  for (int i = 0; i < 100; ++i)
    fair += " + s";
  EXPECT_EQ(score(fair), fair);
}

} // namespace
