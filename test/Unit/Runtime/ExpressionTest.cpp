// Expressions of manifests: parsing, printing, checked evaluation.
#include "attnc/Runtime/Expression.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace attnc::rt;

namespace {

const SymbolTable symbols = {{"batch", 3}, {"max_len_q", 300}, {"splits", 0}};

std::int64_t valueOf(const std::string &json) {
  Result<Expression> expression = Expression::parse(json);
  EXPECT_TRUE(expression.ok()) << expression.status().message();
  if (!expression)
    return -1;
  Result<std::int64_t> value = expression->evaluate(symbols);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value ? *value : -1;
}

std::string evaluationError(const std::string &json) {
  Result<Expression> expression = Expression::parse(json);
  EXPECT_TRUE(expression.ok()) << expression.status().message();
  if (!expression)
    return "did not parse";
  Result<std::int64_t> value = expression->evaluate(symbols);
  EXPECT_FALSE(value.ok());
  return value ? "no error" : value.status().message();
}

TEST(Expression, EvaluatesEveryOperation) {
  EXPECT_EQ(valueOf("42"), 42);
  EXPECT_EQ(valueOf("\"batch\""), 3);
  EXPECT_EQ(valueOf(R"(["add", 1, "batch"])"), 4);
  EXPECT_EQ(valueOf(R"(["sub", 1, "batch"])"), -2);
  EXPECT_EQ(valueOf(R"(["mul", "batch", ["ceildiv", "max_len_q", 128]])"), 9);
  EXPECT_EQ(valueOf(R"(["min", 5, "batch"])"), 3);
  EXPECT_EQ(valueOf(R"(["max", 5, "batch"])"), 5);
}

TEST(Expression, CeilDivRoundsUpOnBothSidesOfZero) {
  EXPECT_EQ(valueOf(R"(["ceildiv", 0, 4])"), 0);
  EXPECT_EQ(valueOf(R"(["ceildiv", 1, 4])"), 1);
  EXPECT_EQ(valueOf(R"(["ceildiv", 8, 4])"), 2);
  EXPECT_EQ(valueOf(R"(["ceildiv", -5, 4])"), -1);
  EXPECT_EQ(valueOf(R"(["ceildiv", 9223372036854775807, 2])"), 4611686018427387904);
}

TEST(Expression, OperandOrderIsKept) {
  EXPECT_EQ(valueOf(R"(["sub", ["sub", 10, 3], ["sub", 5, 1]])"), 3);
}

TEST(Expression, OverflowIsAnErrorThatShowsTheExpression) {
  EXPECT_EQ(evaluationError(R"(["mul", 9223372036854775807, 2])"),
            "expression [\"mul\",9223372036854775807,2] overflows 64 bits at mul of "
            "9223372036854775807 and 2");
  EXPECT_NE(evaluationError(R"(["add", 9223372036854775807, 1])").find("overflows"),
            std::string::npos);
  EXPECT_NE(evaluationError(R"(["sub", -9223372036854775807, 2])").find("overflows"),
            std::string::npos);
}

TEST(Expression, DivisionByZeroIsAnError) {
  EXPECT_NE(evaluationError(R"(["ceildiv", 1, "splits"])").find("divides by 0"), std::string::npos);
  EXPECT_NE(evaluationError(R"(["ceildiv", -9223372036854775808, -1])").find("divides by -1"),
            std::string::npos);
}

TEST(Expression, UnknownSymbolIsNamed) {
  EXPECT_NE(evaluationError("\"pages\"").find("'pages'"), std::string::npos);
}

TEST(Expression, MalformedFormsAreRefused) {
  for (const char *text :
       {"", "[", "{}", "null", "true", "1.5", "[]", "[\"add\", 1]", "[\"add\", 1, 2, 3]",
        "[\"pow\", 1, 2]", "[1, 2, 3]", "\"\"", "[\"add\", 1, null]", "18446744073709551615"})
    EXPECT_FALSE(Expression::parse(text).ok()) << text;
}

TEST(Expression, DeepNestingIsRefused) {
  std::string text = "1";
  for (int i = 0; i < 2000; ++i)
    text = "[\"add\", 1, " + text + "]";
  Result<Expression> parsed = Expression::parse(text);
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.status().message().find("deeper"), std::string::npos);
}

TEST(Expression, BuildersPrintWhatParsingReads) {
  const Expression built = Expression::mul(
      Expression::symbol("batch"),
      Expression::ceilDiv(Expression::max(Expression::symbol("max_len_q"), 1),
                          Expression::sub(Expression::add(100, 30), Expression::min(2, 9))));
  EXPECT_EQ(
      built.toJson(),
      R"(["mul","batch",["ceildiv",["max","max_len_q",1],["sub",["add",100,30],["min",2,9]]]])");
  Result<Expression> parsed = Expression::parse(built.toJson());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->toJson(), built.toJson());
  EXPECT_EQ(*parsed->evaluate(symbols), 9);
  EXPECT_EQ(built.symbols(), (std::vector<std::string>{"batch", "max_len_q"}));
  EXPECT_EQ(*Expression().evaluate({}), 0);
}

} // namespace
