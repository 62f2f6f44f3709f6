// Typed tree to arith, math and attn.lookup ops in a mask or score block.
#include "ExpressionNodes.h"
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using llvm::StringRef;

namespace attnc {

ExpressionEmitter::ExpressionEmitter(OpBuilder &builder, Block *block, ExprRole role,
                                     const llvm::StringMap<Value> &args, StringRef fileName)
    : builder(builder), block(block), role(role), args(args), fileName(fileName.str()) {
  if (role == ExprRole::Score)
    score = block->getArgument(0);
}

/// Argument of the block by its place in the mask region's order; a score block has s first.
Value ExpressionEmitter::position(unsigned index) const {
  return block->getArgument(index + (role == ExprRole::Score ? 1 : 0));
}

Value ExpressionEmitter::emitName(const ExprNode &node, Location loc) {
  if (node.name == "s")
    return score;
  if (node.name == "q_pos") {
    // q + (len_kv − len_q): the offset is one number a sequence, so it stays scalar in a tile.
    if (!queryPosition) {
      Value offset = arith::SubIOp::create(builder, loc, position(5), position(4));
      queryPosition = arith::AddIOp::create(builder, loc, position(2), offset);
    }
    return queryPosition;
  }
  for (auto [index, name] : llvm::enumerate(exprPositionNames()))
    if (name == node.name)
      return position(static_cast<unsigned>(index));
  return args.lookup(node.name);
}

Value ExpressionEmitter::emitLookup(const ExprNode &node, Location loc) {
  Value tensor = args.lookup(node.name);
  SmallVector<Value> indices;
  for (const auto &index : node.operands)
    indices.push_back(emit(*index));
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value value = attn::LookupOp::create(builder, loc, element, tensor, indices);
  if (node.type == ExprType::Bool) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(element, 0));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (node.type == ExprType::F32 && !element.isF32())
    return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return value;
}

Value ExpressionEmitter::emitFloat(const ExprNode &node, Location loc, ValueRange in) {
  switch (node.op) {
  case ExprOp::Add:
    return arith::AddFOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Sub:
    return arith::SubFOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Mul:
    return arith::MulFOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Div: {
    // Dividing by a number that is the same for every logit may multiply by its reciprocal: that
    // moves the result by at most an ulp, and a division per logit costs more than an exp.
    bool uniform = node.operands[1]->op == ExprOp::Literal ||
                   (node.operands[1]->op == ExprOp::Name && args.contains(node.operands[1]->name));
    auto flags = uniform ? arith::FastMathFlags::arcp : arith::FastMathFlags::none;
    return arith::DivFOp::create(builder, loc, in[0], in[1], flags);
  }
  case ExprOp::FloorDiv: {
    Value quotient = arith::DivFOp::create(builder, loc, in[0], in[1]);
    return math::FloorOp::create(builder, loc, quotient);
  }
  case ExprOp::Mod: {
    Value quotient = arith::DivFOp::create(builder, loc, in[0], in[1]);
    Value whole = math::FloorOp::create(builder, loc, quotient);
    Value product = arith::MulFOp::create(builder, loc, whole, in[1]);
    return arith::SubFOp::create(builder, loc, in[0], product);
  }
  case ExprOp::Neg:
    return arith::NegFOp::create(builder, loc, in[0]);
  case ExprOp::Abs:
    return math::AbsFOp::create(builder, loc, in[0]);
  case ExprOp::Min:
    return arith::MinimumFOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Max:
    return arith::MaximumFOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Exp:
    return math::ExpOp::create(builder, loc, in[0]);
  case ExprOp::Exp2:
    return math::Exp2Op::create(builder, loc, in[0]);
  case ExprOp::Log:
    return math::LogOp::create(builder, loc, in[0]);
  case ExprOp::Log2:
    return math::Log2Op::create(builder, loc, in[0]);
  case ExprOp::Sqrt:
    return math::SqrtOp::create(builder, loc, in[0]);
  case ExprOp::Tanh:
    return math::TanhOp::create(builder, loc, in[0]);
  case ExprOp::Floor:
    return math::FloorOp::create(builder, loc, in[0]);
  case ExprOp::ToFloat:
    if (in[0].getType().isInteger(1))
      return arith::UIToFPOp::create(builder, loc, builder.getF32Type(), in[0]);
    return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), in[0]);
  default:
    llvm_unreachable("not an f32 operation");
  }
}

Value ExpressionEmitter::emitInt(const ExprNode &node, Location loc, ValueRange in) {
  switch (node.op) {
  case ExprOp::Add:
    return arith::AddIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Sub:
    return arith::SubIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Mul:
    return arith::MulIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::FloorDiv:
    return arith::FloorDivSIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Mod: {
    Value quotient = arith::FloorDivSIOp::create(builder, loc, in[0], in[1]);
    Value product = arith::MulIOp::create(builder, loc, quotient, in[1]);
    return arith::SubIOp::create(builder, loc, in[0], product);
  }
  case ExprOp::Neg: {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    return arith::SubIOp::create(builder, loc, zero, in[0]);
  }
  case ExprOp::Abs:
    return math::AbsIOp::create(builder, loc, in[0]);
  case ExprOp::Min:
    return arith::MinSIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Max:
    return arith::MaxSIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::ToInt:
    if (in[0].getType().isInteger(1))
      return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), in[0]);
    return arith::FPToSIOp::create(builder, loc, builder.getI32Type(), in[0]);
  default:
    llvm_unreachable("not an i32 operation");
  }
}

Value ExpressionEmitter::emitBool(const ExprNode &node, Location loc, ValueRange in) {
  using IntPredicate = arith::CmpIPredicate;
  using FloatPredicate = arith::CmpFPredicate;
  auto compare = [&](IntPredicate ints, FloatPredicate floats) -> Value {
    if (in[0].getType().isF32())
      return arith::CmpFOp::create(builder, loc, floats, in[0], in[1]);
    return arith::CmpIOp::create(builder, loc, ints, in[0], in[1]);
  };
  switch (node.op) {
  case ExprOp::And:
    return arith::AndIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Or:
    return arith::OrIOp::create(builder, loc, in[0], in[1]);
  case ExprOp::Not: {
    Value one = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    return arith::XOrIOp::create(builder, loc, in[0], one);
  }
  case ExprOp::Lt:
    return compare(IntPredicate::slt, FloatPredicate::OLT);
  case ExprOp::Le:
    return compare(IntPredicate::sle, FloatPredicate::OLE);
  case ExprOp::Gt:
    return compare(IntPredicate::sgt, FloatPredicate::OGT);
  case ExprOp::Ge:
    return compare(IntPredicate::sge, FloatPredicate::OGE);
  case ExprOp::Eq:
    return compare(IntPredicate::eq, FloatPredicate::OEQ);
  case ExprOp::Ne:
    return compare(IntPredicate::ne, FloatPredicate::UNE);
  default:
    llvm_unreachable("not a bool operation");
  }
}

Value ExpressionEmitter::emit(const ExprNode &node) {
  Location loc = node.loc.line ? Location(FileLineColLoc::get(builder.getContext(), fileName,
                                                              node.loc.line, node.loc.column))
                               : builder.getUnknownLoc();
  switch (node.op) {
  case ExprOp::Literal:
    if (node.type == ExprType::F32)
      return arith::ConstantOp::create(builder, loc,
                                       builder.getF32FloatAttr(static_cast<float>(node.value)));
    if (node.type == ExprType::I32)
      return arith::ConstantOp::create(
          builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(node.integer)));
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(node.integer != 0));
  case ExprOp::Name:
    return emitName(node, loc);
  case ExprOp::Lookup:
    return emitLookup(node, loc);
  default:
    break;
  }
  SmallVector<Value> in;
  for (const auto &operand : node.operands)
    in.push_back(emit(*operand));
  if (node.op == ExprOp::Select)
    return arith::SelectOp::create(builder, loc, in[0], in[1], in[2]);
  switch (node.type) {
  case ExprType::F32:
    return emitFloat(node, loc, in);
  case ExprType::I32:
    return emitInt(node, loc, in);
  case ExprType::Bool:
    return emitBool(node, loc, in);
  }
  llvm_unreachable("expression types are three");
}

} // namespace attnc
