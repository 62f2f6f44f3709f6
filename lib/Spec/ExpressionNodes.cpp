// Typing rules of the expression language and the tables of its names.
#include "ExpressionNodes.h"

using namespace llvm;

namespace attnc {

const char *exprTypeName(ExprType type) {
  switch (type) {
  case ExprType::I32:
    return "i32";
  case ExprType::F32:
    return "f32";
  case ExprType::Bool:
    return "bool";
  }
  return "";
}

ArrayRef<ExprFunction> exprFunctions() {
  static const ExprFunction table[] = {
      {"abs", ExprOp::Abs, 1, 1},      {"min", ExprOp::Min, 2, 16},
      {"max", ExprOp::Max, 2, 16},     {"exp", ExprOp::Exp, 1, 1},
      {"exp2", ExprOp::Exp2, 1, 1},    {"log", ExprOp::Log, 1, 1},
      {"log2", ExprOp::Log2, 1, 1},    {"sqrt", ExprOp::Sqrt, 1, 1},
      {"tanh", ExprOp::Tanh, 1, 1},    {"floor", ExprOp::Floor, 1, 1},
      {"where", ExprOp::Select, 3, 3}, {"int", ExprOp::ToInt, 1, 1},
      {"float", ExprOp::ToFloat, 1, 1}};
  return table;
}

ArrayRef<StringRef> exprPositionNames() {
  static const StringRef names[] = {"b", "h", "q_idx", "kv_pos", "len_q", "len_kv"};
  return names;
}

ArrayRef<StringRef> expressionReservedNames() {
  static const StringRef names[] = {"s",      "b",    "h",    "q_pos", "q_idx", "kv_pos", "len_q",
                                    "len_kv", "abs",  "min",  "max",   "exp",   "exp2",   "log",
                                    "log2",   "sqrt", "tanh", "floor", "where", "int",    "float",
                                    "and",    "or",   "not",  "if",    "else",  "true",   "false"};
  return names;
}

static ExprPtr make(ExprOp op, ExprType type, SpecLoc loc) {
  auto node = std::make_unique<ExprNode>();
  node->op = op;
  node->type = type;
  node->loc = loc;
  return node;
}

ExprPtr makeInt(int64_t value, SpecLoc loc) {
  ExprPtr node = make(ExprOp::Literal, ExprType::I32, loc);
  node->integer = value;
  return node;
}

ExprPtr makeFloat(double value, SpecLoc loc) {
  ExprPtr node = make(ExprOp::Literal, ExprType::F32, loc);
  node->value = static_cast<float>(value);
  return node;
}

ExprPtr makeBool(bool value, SpecLoc loc) {
  ExprPtr node = make(ExprOp::Literal, ExprType::Bool, loc);
  node->integer = value;
  return node;
}

ExprPtr makeName(StringRef name, ExprType type, SpecLoc loc) {
  ExprPtr node = make(ExprOp::Name, type, loc);
  node->name = name.str();
  return node;
}

ExprPtr toFloat(ExprPtr node) {
  if (node->type == ExprType::F32)
    return node;
  if (node->op == ExprOp::Literal)
    return makeFloat(static_cast<double>(node->integer), node->loc);
  ExprPtr cast = make(ExprOp::ToFloat, ExprType::F32, node->loc);
  cast->operands.push_back(std::move(node));
  return cast;
}

/// Index of the first operand that is not a number, or -1.
static int firstBool(ArrayRef<ExprPtr> operands) {
  for (auto [index, operand] : llvm::enumerate(operands))
    if (operand->type == ExprType::Bool)
      return static_cast<int>(index);
  return -1;
}

/// Makes both of two numbers f32 if either is.
static void promotePair(ExprPtr &left, ExprPtr &right) {
  if (left->type == right->type)
    return;
  left = toFloat(std::move(left));
  right = toFloat(std::move(right));
}

static bool isZero(const ExprNode &node) {
  return node.op == ExprOp::Literal && node.type == ExprType::I32 && node.integer == 0;
}

/// What the op makes of its operands: the rules in one switch.
static bool checkTypes(ExprOp op, std::vector<ExprPtr> &operands, ExprType &type,
                       std::string &fault, unsigned &culprit) {
  auto needNumbers = [&](const char *what) {
    int index = firstBool(operands);
    if (index < 0)
      return true;
    culprit = static_cast<unsigned>(index);
    fault = std::string(what) + " takes numbers, found bool; convert it with int(…) or float(…)";
    return false;
  };
  auto needBool = [&](unsigned index, const char *what) {
    if (operands[index]->type == ExprType::Bool)
      return true;
    culprit = index;
    fault = std::string(what) + " takes bool, found " + exprTypeName(operands[index]->type) +
            "; compare it, as in 'x != 0'";
    return false;
  };
  switch (op) {
  case ExprOp::Add:
  case ExprOp::Sub:
  case ExprOp::Mul:
  case ExprOp::FloorDiv:
  case ExprOp::Mod:
  case ExprOp::Min:
  case ExprOp::Max:
    if (!needNumbers(op == ExprOp::Min || op == ExprOp::Max ? "min and max" : "arithmetic"))
      return false;
    promotePair(operands[0], operands[1]);
    type = operands[0]->type;
    if ((op == ExprOp::FloorDiv || op == ExprOp::Mod) && isZero(*operands[1])) {
      culprit = 1;
      fault = "division by the constant 0; use a divisor that is not zero";
      return false;
    }
    return true;
  case ExprOp::Div:
    if (!needNumbers("'/'"))
      return false;
    operands[0] = toFloat(std::move(operands[0]));
    operands[1] = toFloat(std::move(operands[1]));
    type = ExprType::F32;
    return true;
  case ExprOp::Neg:
  case ExprOp::Abs:
    type = operands[0]->type;
    return needNumbers(op == ExprOp::Neg ? "unary '-'" : "abs");
  case ExprOp::Not:
    type = ExprType::Bool;
    return needBool(0, "'not'");
  case ExprOp::And:
  case ExprOp::Or: {
    type = ExprType::Bool;
    const char *what = op == ExprOp::And ? "'and'" : "'or'";
    return needBool(0, what) && needBool(1, what);
  }
  case ExprOp::Eq:
  case ExprOp::Ne:
    type = ExprType::Bool;
    if (operands[0]->type == ExprType::Bool && operands[1]->type == ExprType::Bool)
      return true;
    [[fallthrough]];
  case ExprOp::Lt:
  case ExprOp::Le:
  case ExprOp::Gt:
  case ExprOp::Ge:
    if (!needNumbers("a comparison with a number"))
      return false;
    promotePair(operands[0], operands[1]);
    type = ExprType::Bool;
    return true;
  case ExprOp::Select:
    if (!needBool(0, "a condition"))
      return false;
    if ((operands[1]->type == ExprType::Bool) != (operands[2]->type == ExprType::Bool)) {
      culprit = 2;
      fault = std::string("the two branches have types ") + exprTypeName(operands[1]->type) +
              " and " + exprTypeName(operands[2]->type) + "; make them one type";
      return false;
    }
    promotePair(operands[1], operands[2]);
    type = operands[1]->type;
    return true;
  case ExprOp::Exp:
  case ExprOp::Exp2:
  case ExprOp::Log:
  case ExprOp::Log2:
  case ExprOp::Sqrt:
  case ExprOp::Tanh:
  case ExprOp::Floor:
    if (!needNumbers("this function"))
      return false;
    operands[0] = toFloat(std::move(operands[0]));
    type = ExprType::F32;
    return true;
  case ExprOp::ToInt:
    type = ExprType::I32;
    return true;
  case ExprOp::ToFloat:
    type = ExprType::F32;
    return true;
  case ExprOp::Literal:
  case ExprOp::Name:
  case ExprOp::Lookup:
    break;
  }
  fault = "not an operation";
  return false;
}

ExprPtr makeNode(ExprOp op, std::vector<ExprPtr> operands, SpecLoc loc, std::string &fault,
                 unsigned &culprit) {
  culprit = 0;
  ExprType type;
  if (!checkTypes(op, operands, type, fault, culprit))
    return nullptr;
  ExprNode &first = *operands[0];
  if (op == ExprOp::ToFloat)
    return toFloat(std::move(operands[0]));
  if (op == ExprOp::ToInt && first.type == ExprType::I32)
    return std::move(operands[0]);
  // 0 - x on i32 is -x, which has no other form in IR. (On f32 they differ for x = 0.)
  if (op == ExprOp::Sub && isZero(first)) {
    std::vector<ExprPtr> negated;
    negated.push_back(std::move(operands[1]));
    return makeNode(ExprOp::Neg, std::move(negated), loc, fault, culprit);
  }
  // Negative literals are literals.
  if (op == ExprOp::Neg && first.op == ExprOp::Literal) {
    first.integer = -first.integer;
    first.value = -first.value;
    first.loc = loc;
    return std::move(operands[0]);
  }
  // floor(a / b) and a // b on f32 are the same; the latter is the normal form.
  if (op == ExprOp::Floor && first.op == ExprOp::Div) {
    first.op = ExprOp::FloorDiv;
    return std::move(operands[0]);
  }
  ExprPtr node = make(op, type, loc);
  node->operands = std::move(operands);
  return node;
}

} // namespace attnc
