// Text to typed tree: a Pratt parser over the tokens of ExpressionLexer.
#include "ExpressionLexer.h"
#include "ExpressionNodes.h"
#include "attnc/Support/NearestName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>
#include <cstdlib>

using namespace llvm;

namespace attnc {
namespace {

/// Binding powers, loosest first; as in Python.
enum Precedence : int { kLowest = 0, kIf, kOr, kAnd, kNot, kCompare, kSum, kProduct, kUnary };

struct BinaryOperator {
  TokenKind token;
  StringLiteral keyword; // for names
  ExprOp op;
  int precedence;
};

const BinaryOperator binaryOperators[] = {{TokenKind::Name, "or", ExprOp::Or, kOr},
                                          {TokenKind::Name, "and", ExprOp::And, kAnd},
                                          {TokenKind::Lt, "", ExprOp::Lt, kCompare},
                                          {TokenKind::Le, "", ExprOp::Le, kCompare},
                                          {TokenKind::Gt, "", ExprOp::Gt, kCompare},
                                          {TokenKind::Ge, "", ExprOp::Ge, kCompare},
                                          {TokenKind::EqEq, "", ExprOp::Eq, kCompare},
                                          {TokenKind::NotEq, "", ExprOp::Ne, kCompare},
                                          {TokenKind::Plus, "", ExprOp::Add, kSum},
                                          {TokenKind::Minus, "", ExprOp::Sub, kSum},
                                          {TokenKind::Star, "", ExprOp::Mul, kProduct},
                                          {TokenKind::Slash, "", ExprOp::Div, kProduct},
                                          {TokenKind::SlashSlash, "", ExprOp::FloorDiv, kProduct},
                                          {TokenKind::Percent, "", ExprOp::Mod, kProduct}};

const BinaryOperator *findBinary(const Token &token) {
  for (const BinaryOperator &entry : binaryOperators)
    if (entry.token == token.kind && (entry.keyword.empty() || entry.keyword == token.text))
      return &entry;
  return nullptr;
}

bool isKeyword(StringRef text) {
  return text == "and" || text == "or" || text == "not" || text == "if" || text == "else";
}

/// A level of the tree costs at most two of the parser (its own and a parenthesis); the rest is
/// room for parentheses that say nothing.
constexpr unsigned kMaxRecursion = 4 * kMaxExpressionDepth;

class ExpressionParser {
public:
  ExpressionParser(StringRef text, ExprRole role, ArrayRef<SpecArg> args,
                   function_ref<SpecLoc(size_t)> locate,
                   function_ref<void(size_t, const std::string &)> error)
      : lexer(text), role(role), args(args), locate(locate), error(error) {}

  ExprPtr run() {
    advance();
    ExprPtr root = parse(kLowest);
    if (!root)
      return nullptr;
    if (token.kind != TokenKind::End)
      return failExpected("an operator or the end of the expression");
    return root;
  }

private:
  /// Counts the parser's own nesting; the tree's is checked when it is whole.
  struct Depth {
    explicit Depth(unsigned &value) : value(++value) {}
    ~Depth() { --value; }
    unsigned &value;
  };

  void advance() { token = lexer.next(); }
  bool isName(StringRef keyword) const {
    return token.kind == TokenKind::Name && token.text == keyword;
  }

  ExprPtr fail(size_t offset, const std::string &message) {
    if (!failed)
      error(offset, message);
    failed = true;
    return nullptr;
  }

  ExprPtr failExpected(const char *what) {
    if (token.kind == TokenKind::Error)
      return fail(token.offset, lexer.getMessage());
    std::string found = token.kind == TokenKind::End ? "the end" : "'" + token.text.str() + "'";
    return fail(token.offset, "found " + found + " where " + what + " was expected");
  }

  bool expect(TokenKind kind, const char *what) {
    if (token.kind != kind) {
      failExpected(what);
      return false;
    }
    advance();
    return true;
  }

  ExprPtr node(ExprOp op, std::vector<ExprPtr> operands, size_t offset,
               ArrayRef<size_t> operandOffsets) {
    if (++nodes > kMaxExpressionNodes)
      return fail(offset, "the expression has more than " + std::to_string(kMaxExpressionNodes) +
                              " operations; split it or move data into a tensor argument");
    std::string fault;
    unsigned culprit = 0;
    ExprPtr result = makeNode(op, std::move(operands), locate(offset), fault, culprit);
    if (!result)
      return fail(culprit < operandOffsets.size() ? operandOffsets[culprit] : offset, fault);
    return result;
  }

  ExprPtr failDepth(size_t offset) {
    return fail(offset, "the expression nests deeper than " + std::to_string(kMaxExpressionDepth) +
                            " levels; simplify it");
  }

  ExprPtr parse(int minimum);
  ExprPtr parsePrefix();
  ExprPtr parsePrimary();
  ExprPtr parseLiteral();
  ExprPtr parseNamed();
  ExprPtr parseCall(const ExprFunction &function, size_t offset);
  ExprPtr parseLookup(const SpecArg &arg, size_t offset);
  ExprPtr parseConditional(ExprPtr thenValue, size_t offset);
  ExprPtr failUnknownName(StringRef name, size_t offset);

  ExpressionLexer lexer;
  Token token;
  ExprRole role;
  ArrayRef<SpecArg> args;
  function_ref<SpecLoc(size_t)> locate;
  function_ref<void(size_t, const std::string &)> error;
  unsigned depth = 0, nodes = 0;
  bool failed = false;
};

ExprPtr ExpressionParser::parse(int minimum) {
  Depth guard(depth);
  size_t start = token.offset;
  if (depth > kMaxRecursion)
    return failDepth(start);
  ExprPtr left = parsePrefix();
  bool compared = false;
  while (left) {
    if (isName("if") && minimum <= kIf) {
      left = parseConditional(std::move(left), start);
      continue;
    }
    const BinaryOperator *entry = findBinary(token);
    if (!entry || entry->precedence < minimum)
      break;
    size_t offset = token.offset;
    if (entry->precedence == kCompare && compared)
      return fail(offset, "comparisons cannot be chained; write 'a < b and b < c'");
    compared = entry->precedence == kCompare;
    advance();
    size_t rightOffset = token.offset;
    ExprPtr right = parse(entry->precedence + 1);
    if (!right)
      return nullptr;
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    left = node(entry->op, std::move(operands), offset, {start, rightOffset});
  }
  return left;
}

ExprPtr ExpressionParser::parseConditional(ExprPtr thenValue, size_t offset) {
  advance();
  size_t conditionOffset = token.offset;
  ExprPtr condition = parse(kOr);
  if (!condition)
    return nullptr;
  if (!isName("else"))
    return failExpected("'else'");
  advance();
  size_t elseOffset = token.offset;
  ExprPtr elseValue = parse(kIf);
  if (!elseValue)
    return nullptr;
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(condition));
  operands.push_back(std::move(thenValue));
  operands.push_back(std::move(elseValue));
  return node(ExprOp::Select, std::move(operands), offset, {conditionOffset, offset, elseOffset});
}

ExprPtr ExpressionParser::parsePrefix() {
  size_t offset = token.offset;
  ExprOp op;
  int operandPrecedence;
  if (token.kind == TokenKind::Minus) {
    op = ExprOp::Neg;
    operandPrecedence = kUnary;
  } else if (isName("not")) {
    op = ExprOp::Not;
    operandPrecedence = kNot;
  } else {
    return parsePrimary();
  }
  advance();
  size_t operandOffset = token.offset;
  ExprPtr operand = parse(operandPrecedence);
  if (!operand)
    return nullptr;
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(operand));
  return node(op, std::move(operands), offset, {operandOffset});
}

ExprPtr ExpressionParser::parsePrimary() {
  switch (token.kind) {
  case TokenKind::Int:
  case TokenKind::Float:
    return parseLiteral();
  case TokenKind::Name:
    return parseNamed();
  case TokenKind::LParen: {
    advance();
    ExprPtr inner = parse(kLowest);
    if (!inner || !expect(TokenKind::RParen, "')'"))
      return nullptr;
    return inner;
  }
  default:
    return failExpected("a value");
  }
}

ExprPtr ExpressionParser::parseLiteral() {
  Token literal = token;
  advance();
  if (++nodes > kMaxExpressionNodes)
    return fail(literal.offset, "the expression has too many values; split it");
  SpecLoc loc = locate(literal.offset);
  if (literal.kind == TokenKind::Int) {
    uint64_t value = 0;
    if (literal.text.getAsInteger(10, value) || value > INT32_MAX)
      return fail(literal.offset,
                  "integer " + literal.text.str() +
                      " does not fit i32 (at most 2147483647); write it as a float");
    return makeInt(static_cast<int64_t>(value), loc);
  }
  float value = std::strtof(literal.text.str().c_str(), nullptr);
  if (!std::isfinite(value))
    return fail(literal.offset,
                "number " + literal.text.str() + " does not fit f32 (at most 3.4e38)");
  return makeFloat(value, loc);
}

ExprPtr ExpressionParser::failUnknownName(StringRef name, size_t offset) {
  SmallVector<StringRef> candidates;
  for (StringRef known : expressionReservedNames())
    if (known != "s" || role == ExprRole::Score)
      candidates.push_back(known);
  for (const SpecArg &arg : args)
    candidates.push_back(arg.name);
  return fail(offset, "unknown name '" + name.str() + "'" + didYouMean(name, candidates) +
                          " (arguments are declared under 'args')");
}

ExprPtr ExpressionParser::parseNamed() {
  Token named = token;
  StringRef name = named.text;
  size_t offset = named.offset;
  if (isKeyword(name))
    return failExpected("a value");
  advance();
  if (++nodes > kMaxExpressionNodes)
    return fail(offset, "the expression has too many values; split it");
  SpecLoc loc = locate(offset);
  if (token.kind == TokenKind::LParen) {
    const ExprFunction *function =
        find_if(exprFunctions(), [&](const ExprFunction &f) { return f.name == name; });
    if (function != exprFunctions().end())
      return parseCall(*function, offset);
    SmallVector<StringRef> candidates;
    for (const ExprFunction &known : exprFunctions())
      candidates.push_back(known.name);
    return fail(offset,
                "unknown function '" + name.str() + "'" + didYouMean(name, candidates) +
                    "; known: abs, min, max, exp, exp2, log, log2, sqrt, tanh, floor, where, "
                    "int, float");
  }
  if (name == "true" || name == "false")
    return makeBool(name == "true", loc);
  const SpecArg *arg = find_if(args, [&](const SpecArg &a) { return a.name == name; });
  if (arg != args.end()) {
    if (arg->isTensor())
      return parseLookup(*arg, offset);
    if (token.kind == TokenKind::LBracket)
      return fail(token.offset,
                  "'" + name.str() + "' is a scalar; only tensor arguments are indexed");
    return makeName(name, arg->dtype == DType::F32 ? ExprType::F32 : ExprType::I32, loc);
  }
  if (name == "s") {
    if (role == ExprRole::Mask)
      return fail(offset, "a mask cannot see the score 's'; it decides by positions and arguments");
    return makeName(name, ExprType::F32, loc);
  }
  if (name == "q_pos" || is_contained(exprPositionNames(), name))
    return makeName(name, ExprType::I32, loc);
  return failUnknownName(name, offset);
}

ExprPtr ExpressionParser::parseCall(const ExprFunction &function, size_t offset) {
  advance(); // '('
  std::vector<ExprPtr> operands;
  SmallVector<size_t> offsets;
  while (token.kind != TokenKind::RParen) {
    if (!operands.empty() && !expect(TokenKind::Comma, "',' or ')'"))
      return nullptr;
    if (operands.size() == function.maxOperands)
      return fail(token.offset, function.name.str() + " takes at most " +
                                    std::to_string(function.maxOperands) + " operand(s)");
    offsets.push_back(token.offset);
    ExprPtr operand = parse(kLowest);
    if (!operand)
      return nullptr;
    operands.push_back(std::move(operand));
  }
  if (operands.size() < function.minOperands)
    return fail(token.offset, function.name.str() + " takes " +
                                  std::to_string(function.minOperands) + " operand(s), found " +
                                  std::to_string(operands.size()));
  advance(); // ')'
  if (function.op != ExprOp::Min && function.op != ExprOp::Max)
    return node(function.op, std::move(operands), offset, offsets);
  // min and max of several operands nest to the left.
  ExprPtr result = std::move(operands[0]);
  for (size_t i = 1; i < operands.size() && result; ++i) {
    std::vector<ExprPtr> pair;
    pair.push_back(std::move(result));
    pair.push_back(std::move(operands[i]));
    result = node(function.op, std::move(pair), offset, {offsets[0], offsets[i]});
  }
  return result;
}

ExprPtr ExpressionParser::parseLookup(const SpecArg &arg, size_t offset) {
  size_t rank = arg.shape.size();
  if (token.kind != TokenKind::LBracket)
    return fail(offset, "'" + arg.name + "' is a tensor of rank " + std::to_string(rank) +
                            "; index it, as in " + arg.name + "[" + (rank > 1 ? "h, kv_pos" : "h") +
                            "]");
  advance();
  auto lookup = std::make_unique<ExprNode>();
  lookup->op = ExprOp::Lookup;
  lookup->name = arg.name;
  lookup->loc = locate(offset);
  lookup->type = arg.dtype == DType::I32    ? ExprType::I32
                 : arg.dtype == DType::Bool ? ExprType::Bool
                                            : ExprType::F32;
  while (token.kind != TokenKind::RBracket) {
    if (!lookup->operands.empty() && !expect(TokenKind::Comma, "',' or ']'"))
      return nullptr;
    size_t indexOffset = token.offset;
    ExprPtr index = parse(kLowest);
    if (!index)
      return nullptr;
    if (index->type != ExprType::I32)
      return fail(indexOffset, std::string("an index is i32, found ") + exprTypeName(index->type) +
                                   "; convert it with int(…)");
    lookup->operands.push_back(std::move(index));
    if (lookup->operands.size() > rank)
      break;
  }
  if (lookup->operands.size() != rank)
    return fail(
        offset,
        "'" + arg.name + "' has rank " + std::to_string(rank) + ", found " +
            (lookup->operands.size() > rank ? "more" : std::to_string(lookup->operands.size())) +
            " indices");
  advance(); // ']'
  return lookup;
}

} // namespace

static unsigned treeDepth(const ExprNode &node) {
  unsigned deepest = 0;
  for (const ExprPtr &operand : node.operands)
    deepest = std::max(deepest, treeDepth(*operand));
  return deepest + 1;
}

std::shared_ptr<const Expression>
parseExpression(StringRef text, ExprRole role, ArrayRef<SpecArg> args,
                function_ref<SpecLoc(size_t)> locate,
                function_ref<void(size_t, const std::string &)> error) {
  if (text.size() > kMaxExpressionLength) {
    error(0, "the expression is " + std::to_string(text.size()) + " bytes long; at most " +
                 std::to_string(kMaxExpressionLength) + " are allowed");
    return nullptr;
  }
  ExprPtr root = ExpressionParser(text, role, args, locate, error).run();
  if (!root)
    return nullptr;
  if (role == ExprRole::Mask && root->type != ExprType::Bool) {
    error(0, std::string("a mask yields bool (true = visible), found ") + exprTypeName(root->type) +
                 "; compare it, as in 'x != 0'");
    return nullptr;
  }
  if (role == ExprRole::Score && root->type == ExprType::Bool) {
    error(0, "a score yields f32, found bool; use 'x if c else y', or a mask to hide keys");
    return nullptr;
  }
  if (role == ExprRole::Score)
    root = toFloat(std::move(root));
  // A chain such as a + b + c deepens the tree without nesting in the text.
  if (treeDepth(*root) > kMaxExpressionDepth) {
    error(0, "the expression nests deeper than " + std::to_string(kMaxExpressionDepth) +
                 " levels; simplify it");
    return nullptr;
  }
  auto expression = std::make_shared<Expression>();
  expression->text = printExpression(*root, role);
  if (expression->text.size() > kMaxExpressionLength) {
    error(0, "the expression is " + std::to_string(expression->text.size()) +
                 " bytes long in normal spacing; at most " + std::to_string(kMaxExpressionLength) +
                 " are allowed");
    return nullptr;
  }
  expression->root = std::move(root);
  return expression;
}

} // namespace attnc
