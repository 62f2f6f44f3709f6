// Region to typed tree: reads the yielded value backwards, undoing what the emitter does.
#include "ExpressionNodes.h"
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using llvm::StringRef;

namespace attnc {
namespace {

class Importer {
public:
  Importer(Block &block, ExprRole role, llvm::function_ref<StringRef(Value)> names,
           std::string &why)
      : block(block), role(role), names(names), why(why) {}

  ExprPtr import(Value value);
  /// The arguments seen, as far as a spec declares them.
  llvm::ArrayRef<SpecArg> getArgs() const { return args; }

private:
  ExprPtr fail(const std::string &reason) {
    if (why.empty())
      why = reason;
    return nullptr;
  }
  ExprPtr build(ExprOp op, ValueRange values, SpecLoc loc);
  ExprPtr importArgument(BlockArgument argument);
  ExprPtr importConstant(arith::ConstantOp op, SpecLoc loc);
  ExprPtr importLookup(attn::LookupOp op, SpecLoc loc);
  ExprPtr importSubtract(Operation *op, SpecLoc loc);
  ExprPtr importOp(Operation *op, SpecLoc loc);
  bool isPosition(Value value, unsigned index) const {
    return value == block.getArgument(index + (role == ExprRole::Score ? 1 : 0));
  }
  bool isQueryPosition(Operation *op) const;

  Block &block;
  ExprRole role;
  llvm::function_ref<StringRef(Value)> names;
  std::string &why;
  /// Remembers an argument and its type for getArgs.
  void noteArgument(StringRef name, Type type);

  llvm::SmallVector<SpecArg> args;
  unsigned depth = 0, nodes = 0;
};

/// An op of the language may be several of IR (f32 // is a division and a floor), so these are
/// looser than the language's limits, which the text is held to in the end.
constexpr unsigned kMaxImportDepth = 2 * kMaxExpressionDepth + 2;
constexpr unsigned kMaxImportNodes = 4 * kMaxExpressionNodes;

SpecLoc specLocOf(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return {file.getLine(), file.getColumn()};
  return {};
}

/// q + (len_kv − len_q), or (q + len_kv) − len_q, operands of + in any order.
bool Importer::isQueryPosition(Operation *op) const {
  if (auto add = dyn_cast<arith::AddIOp>(op)) {
    auto isOffset = [&](Value value) {
      auto sub = value.getDefiningOp<arith::SubIOp>();
      return sub && isPosition(sub.getLhs(), 5) && isPosition(sub.getRhs(), 4);
    };
    return (isPosition(add.getLhs(), 2) && isOffset(add.getRhs())) ||
           (isPosition(add.getRhs(), 2) && isOffset(add.getLhs()));
  }
  auto sub = dyn_cast<arith::SubIOp>(op);
  if (!sub || !isPosition(sub.getRhs(), 4))
    return false;
  auto add = sub.getLhs().getDefiningOp<arith::AddIOp>();
  return add && ((isPosition(add.getLhs(), 2) && isPosition(add.getRhs(), 5)) ||
                 (isPosition(add.getLhs(), 5) && isPosition(add.getRhs(), 2)));
}

ExprPtr Importer::import(Value value) {
  if (++nodes > kMaxImportNodes)
    return fail("the region has more than " + std::to_string(kMaxImportNodes) +
                " operations when written as an expression");
  if (depth >= kMaxImportDepth)
    return fail("the region nests deeper than " + std::to_string(kMaxImportDepth) + " levels");
  ++depth;
  ExprPtr node;
  if (auto argument = dyn_cast<BlockArgument>(value))
    node = importArgument(argument);
  else
    node = importOp(value.getDefiningOp(), specLocOf(value.getLoc()));
  --depth;
  return node;
}

void Importer::noteArgument(StringRef name, Type type) {
  SpecArg arg;
  arg.name = name.str();
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    arg.shape.assign(static_cast<size_t>(tensor.getRank()), -1);
    type = tensor.getElementType();
  }
  if (type.isInteger(32))
    arg.dtype = DType::I32;
  else if (type.isInteger(8))
    arg.dtype = DType::Bool;
  if (llvm::none_of(args, [&](const SpecArg &other) { return other.name == arg.name; }))
    args.push_back(std::move(arg));
}

ExprPtr Importer::importArgument(BlockArgument argument) {
  SpecLoc loc = specLocOf(argument.getLoc());
  if (argument.getOwner() == &block) {
    unsigned index = argument.getArgNumber();
    if (role == ExprRole::Score && index == 0)
      return makeName("s", ExprType::F32, loc);
    index -= role == ExprRole::Score ? 1 : 0;
    if (index < exprPositionNames().size())
      return makeName(exprPositionNames()[index], ExprType::I32, loc);
  }
  StringRef name = names(argument);
  if (name.empty())
    return fail("the region uses a value without a spec name");
  noteArgument(name, argument.getType());
  if (argument.getType().isF32())
    return makeName(name, ExprType::F32, loc);
  if (argument.getType().isInteger(32))
    return makeName(name, ExprType::I32, loc);
  return fail("the region uses '" + name.str() + "', which is neither f32 nor i32");
}

ExprPtr Importer::importConstant(arith::ConstantOp op, SpecLoc loc) {
  if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
    if (!real.getType().isF32() || !std::isfinite(real.getValueAsDouble()))
      return fail("the region holds a constant that is not a finite f32");
    return makeFloat(real.getValueAsDouble(), loc);
  }
  auto integer = dyn_cast<IntegerAttr>(op.getValue());
  if (integer && integer.getType().isInteger(1))
    return makeBool(!integer.getValue().isZero(), loc);
  if (!integer || !integer.getType().isInteger(32))
    return fail("the region holds a constant of another type than i32, f32 and i1");
  int64_t value = integer.getInt();
  if (value != INT32_MIN)
    return makeInt(value, loc);
  // The smallest i32 has no literal.
  std::vector<ExprPtr> operands;
  operands.push_back(makeInt(value + 1, loc));
  operands.push_back(makeInt(1, loc));
  std::string fault;
  unsigned culprit;
  return makeNode(ExprOp::Sub, std::move(operands), loc, fault, culprit);
}

ExprPtr Importer::importLookup(attn::LookupOp op, SpecLoc loc) {
  StringRef name = names(op.getTensor());
  if (name.empty())
    return fail("the region reads a tensor without a spec name");
  noteArgument(name, op.getTensor().getType());
  Type element = op.getValue().getType();
  auto node = std::make_unique<ExprNode>();
  node->op = ExprOp::Lookup;
  node->loc = loc;
  node->name = name.str();
  if (isa<FloatType>(element))
    node->type = ExprType::F32;
  else if (element.isInteger(32))
    node->type = ExprType::I32;
  else
    return fail("the region reads '" + name.str() + "' without comparing it with 0");
  for (Value index : op.getIndices()) {
    ExprPtr tree = import(index);
    if (!tree)
      return nullptr;
    node->operands.push_back(std::move(tree));
  }
  return node;
}

ExprPtr Importer::build(ExprOp op, ValueRange values, SpecLoc loc) {
  std::vector<ExprPtr> operands;
  for (Value value : values) {
    ExprPtr operand = import(value);
    if (!operand)
      return nullptr;
    operands.push_back(std::move(operand));
  }
  std::string fault;
  unsigned culprit;
  ExprPtr node = makeNode(op, std::move(operands), loc, fault, culprit);
  return node ? std::move(node) : fail(fault);
}

/// a − ⌊a / b⌋·b is a % b; 0 − a is −a.
ExprPtr Importer::importSubtract(Operation *op, SpecLoc loc) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (isa<arith::SubIOp>(op)) {
    if (matchPattern(left, m_Zero()))
      return build(ExprOp::Neg, right, loc);
    if (auto product = right.getDefiningOp<arith::MulIOp>())
      if (auto quotient = product.getLhs().getDefiningOp<arith::FloorDivSIOp>())
        if (quotient.getLhs() == left && quotient.getRhs() == product.getRhs())
          return build(ExprOp::Mod, {left, quotient.getRhs()}, loc);
    return build(ExprOp::Sub, op->getOperands(), loc);
  }
  if (auto product = right.getDefiningOp<arith::MulFOp>())
    if (auto whole = product.getLhs().getDefiningOp<math::FloorOp>())
      if (auto quotient = whole.getOperand().getDefiningOp<arith::DivFOp>())
        if (quotient.getLhs() == left && quotient.getRhs() == product.getRhs())
          return build(ExprOp::Mod, {left, quotient.getRhs()}, loc);
  return build(ExprOp::Sub, op->getOperands(), loc);
}

std::optional<ExprOp> comparisonOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ExprOp::Eq;
  case arith::CmpIPredicate::ne:
    return ExprOp::Ne;
  case arith::CmpIPredicate::slt:
    return ExprOp::Lt;
  case arith::CmpIPredicate::sle:
    return ExprOp::Le;
  case arith::CmpIPredicate::sgt:
    return ExprOp::Gt;
  case arith::CmpIPredicate::sge:
    return ExprOp::Ge;
  default:
    return std::nullopt;
  }
}

std::optional<ExprOp> comparisonOf(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return ExprOp::Eq;
  case arith::CmpFPredicate::UNE:
    return ExprOp::Ne;
  case arith::CmpFPredicate::OLT:
    return ExprOp::Lt;
  case arith::CmpFPredicate::OLE:
    return ExprOp::Le;
  case arith::CmpFPredicate::OGT:
    return ExprOp::Gt;
  case arith::CmpFPredicate::OGE:
    return ExprOp::Ge;
  default:
    return std::nullopt;
  }
}

/// Ops that are one ExprOp each, whatever their attributes.
std::optional<ExprOp> simpleOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ExprOp>>(op)
      .Case<arith::AddIOp, arith::AddFOp>([](auto) { return ExprOp::Add; })
      .Case<arith::MulIOp, arith::MulFOp>([](auto) { return ExprOp::Mul; })
      .Case<arith::DivFOp>([](auto) { return ExprOp::Div; })
      .Case<arith::FloorDivSIOp>([](auto) { return ExprOp::FloorDiv; })
      .Case<arith::NegFOp>([](auto) { return ExprOp::Neg; })
      .Case<math::AbsFOp, math::AbsIOp>([](auto) { return ExprOp::Abs; })
      .Case<arith::MinSIOp, arith::MinimumFOp>([](auto) { return ExprOp::Min; })
      .Case<arith::MaxSIOp, arith::MaximumFOp>([](auto) { return ExprOp::Max; })
      .Case<math::ExpOp>([](auto) { return ExprOp::Exp; })
      .Case<math::Exp2Op>([](auto) { return ExprOp::Exp2; })
      .Case<math::LogOp>([](auto) { return ExprOp::Log; })
      .Case<math::Log2Op>([](auto) { return ExprOp::Log2; })
      .Case<math::SqrtOp>([](auto) { return ExprOp::Sqrt; })
      .Case<math::TanhOp>([](auto) { return ExprOp::Tanh; })
      .Case<math::FloorOp>([](auto) { return ExprOp::Floor; })
      .Case<arith::SelectOp>([](auto) { return ExprOp::Select; })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([](auto) { return ExprOp::ToFloat; })
      .Case<arith::FPToSIOp, arith::ExtUIOp>([](auto) { return ExprOp::ToInt; })
      .Default([](auto) { return std::nullopt; });
}

ExprPtr Importer::importOp(Operation *op, SpecLoc loc) {
  StringRef name = op->getName().getStringRef();
  auto unknown = [&] {
    return fail("the region holds '" + name.str() + "', which has no expression");
  };
  if (op->getBlock() != &block || op->getNumResults() != 1)
    return unknown();
  if (isQueryPosition(op))
    return makeName("q_pos", ExprType::I32, loc);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return importConstant(constant, loc);
  if (auto lookup = dyn_cast<attn::LookupOp>(op))
    return importLookup(lookup, loc);
  if (isa<arith::SubIOp, arith::SubFOp>(op))
    return importSubtract(op, loc);
  if (auto extend = dyn_cast<arith::ExtFOp>(op))
    if (auto narrow = extend.getIn().getDefiningOp<attn::LookupOp>();
        narrow && extend.getType().isF32())
      return importLookup(narrow, loc);

  Type operandType = op->getNumOperands() ? op->getOperand(0).getType() : Type();
  bool onBools = operandType && operandType.isInteger(1);
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    // A bool tensor is stored in bytes: lookup != 0.
    auto lookup = compare.getLhs().getDefiningOp<attn::LookupOp>();
    if (lookup && operandType.isInteger(8) && compare.getPredicate() == arith::CmpIPredicate::ne &&
        matchPattern(compare.getRhs(), m_Zero())) {
      StringRef tensor = names(lookup.getTensor());
      noteArgument(tensor, lookup.getTensor().getType());
      ExprPtr node = std::make_unique<ExprNode>();
      node->op = ExprOp::Lookup;
      node->type = ExprType::Bool;
      node->loc = loc;
      node->name = tensor.str();
      for (Value index : lookup.getIndices()) {
        ExprPtr tree = import(index);
        if (!tree)
          return nullptr;
        node->operands.push_back(std::move(tree));
      }
      return tensor.empty() ? fail("the region reads a tensor without a spec name")
                            : std::move(node);
    }
    std::optional<ExprOp> comparison = comparisonOf(compare.getPredicate());
    if (!comparison || (!onBools && !operandType.isInteger(32)))
      return unknown();
    return build(*comparison, op->getOperands(), loc);
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    std::optional<ExprOp> comparison = comparisonOf(compare.getPredicate());
    return comparison ? build(*comparison, op->getOperands(), loc) : unknown();
  }
  if (onBools && isa<arith::AndIOp>(op))
    return build(ExprOp::And, op->getOperands(), loc);
  if (onBools && isa<arith::OrIOp>(op))
    return build(ExprOp::Or, op->getOperands(), loc);
  if (onBools && isa<arith::XOrIOp>(op)) {
    if (matchPattern(op->getOperand(1), m_One()))
      return build(ExprOp::Not, op->getOperand(0), loc);
    return build(ExprOp::Ne, op->getOperands(), loc);
  }
  if (std::optional<ExprOp> simple = simpleOp(op)) {
    Type result = op->getResult(0).getType();
    if (!result.isF32() && !result.isInteger(32) && !result.isInteger(1))
      return unknown();
    // i1 arithmetic wraps at one bit, and a signed i1 true is −1: neither has an expression.
    if (onBools && !isa<arith::SelectOp, arith::UIToFPOp, arith::ExtUIOp>(op))
      return unknown();
    if (!onBools && isa<arith::UIToFPOp, arith::ExtUIOp>(op))
      return unknown();
    return build(*simple, op->getOperands(), loc);
  }
  return unknown();
}

} // namespace

std::shared_ptr<const Expression> importExpression(Region &region, ExprRole role,
                                                   llvm::function_ref<StringRef(Value)> names,
                                                   std::string &why, Value rootValue) {
  why.clear();
  if (!region.hasOneBlock() || !region.front().mightHaveTerminator() ||
      region.front().getTerminator()->getNumOperands() != 1) {
    why = "the region is not one block that yields one value";
    return nullptr;
  }
  Block &block = region.front();
  unsigned expected = role == ExprRole::Score ? attn::kScoreArgs : attn::kMaskArgs;
  if (block.getNumArguments() != expected) {
    why = "the region has " + std::to_string(block.getNumArguments()) + " arguments; it needs " +
          std::to_string(expected);
    return nullptr;
  }
  if (!rootValue)
    rootValue = block.getTerminator()->getOperand(0);
  Importer importer(block, role, names, why);
  ExprPtr root = importer.import(rootValue);
  if (!root)
    return nullptr;
  if ((root->type == ExprType::Bool) != (role == ExprRole::Mask)) {
    why = "the region yields a value of the wrong type";
    return nullptr;
  }
  auto expression = std::make_shared<Expression>();
  if (role == ExprRole::Score)
    root = toFloat(std::move(root));
  expression->text = printExpression(*root, role);
  // Whatever is given back can be written down and read again, within the language's limits.
  auto written = parseExpression(
      expression->text, role, importer.getArgs(), [](size_t) { return SpecLoc(); },
      [&](size_t, const std::string &message) { why = message; });
  if (!written)
    return nullptr;
  expression->root = std::move(root);
  return expression;
}

} // namespace attnc
