// Typed tree to normal text: single spaces, fewest parentheses, promotions left out.
#include "ExpressionNodes.h"
#include "SpecVariants.h"

#include <charconv>
#include <cmath>

using namespace llvm;

namespace attnc {
namespace {

/// As in the parser; a node is put in parentheses where its own is below what its place needs.
enum Precedence : int {
  kLowest = 0,
  kIf,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kSum,
  kProduct,
  kUnary,
  kAtom
};

struct Infix {
  const char *text;
  int precedence;
};

Infix infixOf(ExprOp op) {
  switch (op) {
  case ExprOp::Or:
    return {" or ", kOr};
  case ExprOp::And:
    return {" and ", kAnd};
  case ExprOp::Lt:
    return {" < ", kCompare};
  case ExprOp::Le:
    return {" <= ", kCompare};
  case ExprOp::Gt:
    return {" > ", kCompare};
  case ExprOp::Ge:
    return {" >= ", kCompare};
  case ExprOp::Eq:
    return {" == ", kCompare};
  case ExprOp::Ne:
    return {" != ", kCompare};
  case ExprOp::Add:
    return {" + ", kSum};
  case ExprOp::Sub:
    return {" - ", kSum};
  case ExprOp::Mul:
    return {" * ", kProduct};
  case ExprOp::Div:
    return {" / ", kProduct};
  case ExprOp::FloorDiv:
    return {" // ", kProduct};
  case ExprOp::Mod:
    return {" % ", kProduct};
  default:
    return {nullptr, kAtom};
  }
}

bool isIntCast(const ExprNode &node) {
  return node.op == ExprOp::ToFloat && node.operands[0]->type == ExprType::I32;
}

/// The operand under a cast that promotion would insert again.
const ExprNode &stripCast(const ExprNode &node) {
  return isIntCast(node) ? *node.operands[0] : node;
}

class Printer {
public:
  std::string take() { return std::move(out); }

  void print(const ExprNode &node, int needed) {
    int own = precedenceOf(node);
    bool parentheses = own < needed;
    if (parentheses)
      out += '(';
    printBare(node);
    if (parentheses)
      out += ')';
  }

private:
  static int precedenceOf(const ExprNode &node) {
    if (node.op == ExprOp::Select)
      return kIf;
    if (node.op == ExprOp::Not)
      return kNot;
    if (node.op == ExprOp::Neg)
      return kUnary;
    if (node.op == ExprOp::Literal && node.type != ExprType::Bool &&
        (node.integer < 0 || std::signbit(node.value)))
      return kUnary;
    return infixOf(node.op).precedence;
  }

  void printLiteral(const ExprNode &node) {
    if (node.type == ExprType::Bool)
      out += node.integer ? "true" : "false";
    else if (node.type == ExprType::I32)
      out += std::to_string(node.integer);
    else
      out += floatText(node.value);
  }

  void printList(ArrayRef<const ExprNode *> nodes, char open, char close) {
    out += open;
    for (const ExprNode *node : nodes) {
      if (node != nodes.front())
        out += ", ";
      print(*node, kLowest);
    }
    out += close;
  }

  /// Prints two operands that promote each other: a cast that the other one implies is left out.
  void splitPair(const ExprNode &node, unsigned first, const ExprNode *&left,
                 const ExprNode *&right) {
    left = node.operands[first].get();
    right = node.operands[first + 1].get();
    if (node.op == ExprOp::Div) {
      left = &stripCast(*left);
      right = &stripCast(*right);
    } else if (isIntCast(*right)) {
      right = &stripCast(*right);
    } else {
      left = right->type == ExprType::F32 ? &stripCast(*left) : left;
    }
  }

  void printMinMax(const ExprNode &node) {
    // min(min(a, b), c) is min(a, b, c), as the parser nests it.
    SmallVector<const ExprNode *> operands;
    const ExprNode *head = &node;
    while (true) {
      const ExprNode *left, *right;
      splitPair(*head, 0, left, right);
      operands.push_back(right);
      if (left->op == node.op && left->type == node.type && operands.size() < 15) {
        head = left;
        continue;
      }
      operands.push_back(left);
      break;
    }
    std::reverse(operands.begin(), operands.end());
    out += node.op == ExprOp::Min ? "min" : "max";
    printList(operands, '(', ')');
  }

  void printBare(const ExprNode &node) {
    switch (node.op) {
    case ExprOp::Literal:
      return printLiteral(node);
    case ExprOp::Name:
      out += node.name;
      return;
    case ExprOp::Lookup: {
      out += node.name;
      SmallVector<const ExprNode *> indices;
      for (const ExprPtr &index : node.operands)
        indices.push_back(index.get());
      return printList(indices, '[', ']');
    }
    case ExprOp::Neg:
      out += '-';
      return print(*node.operands[0], kUnary);
    case ExprOp::Not:
      out += "not ";
      return print(*node.operands[0], kNot);
    case ExprOp::Select: {
      const ExprNode *thenValue, *elseValue;
      splitPair(node, 1, thenValue, elseValue);
      print(*thenValue, kOr);
      out += " if ";
      print(*node.operands[0], kOr);
      out += " else ";
      return print(*elseValue, kIf);
    }
    case ExprOp::Min:
    case ExprOp::Max:
      return printMinMax(node);
    case ExprOp::ToInt:
    case ExprOp::ToFloat:
      out += node.op == ExprOp::ToInt ? "int" : "float";
      return printList({node.operands[0].get()}, '(', ')');
    default:
      break;
    }
    Infix infix = infixOf(node.op);
    if (infix.text) {
      const ExprNode *left, *right;
      splitPair(node, 0, left, right);
      // Comparisons do not associate at all, the rest to the left.
      print(*left, infix.precedence + (infix.precedence == kCompare));
      out += infix.text;
      return print(*right, infix.precedence + 1);
    }
    for (const ExprFunction &function : exprFunctions())
      if (function.op == node.op)
        out += function.name;
    const ExprNode &operand = *node.operands[0];
    printList({node.op == ExprOp::Abs ? &operand : &stripCast(operand)}, '(', ')');
  }

  std::string out;
};

} // namespace

std::string floatText(double value) {
  char buffer[32];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string printExpression(const ExprNode &root, ExprRole role) {
  Printer printer;
  printer.print(role == ExprRole::Score ? stripCast(root) : root, kLowest);
  return printer.take();
}

} // namespace attnc
