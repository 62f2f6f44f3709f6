// Building typed expression nodes: promotion, literal folding and the functions' table. Shared by
// the parser (from text) and the importer (from regions), so that both give the same normal form.
#ifndef ATTNC_LIB_SPEC_EXPRESSIONNODES_H
#define ATTNC_LIB_SPEC_EXPRESSIONNODES_H

#include "attnc/Spec/Expression.h"

namespace attnc {

using ExprPtr = std::unique_ptr<ExprNode>;

ExprPtr makeInt(int64_t value, SpecLoc loc);
ExprPtr makeFloat(double value, SpecLoc loc);
ExprPtr makeBool(bool value, SpecLoc loc);
ExprPtr makeName(llvm::StringRef name, ExprType type, SpecLoc loc);

/// A node over operands of any types, with the promotions the op needs. On a type fault returns
/// null and sets `fault` (and `culprit`, the operand's number).
ExprPtr makeNode(ExprOp op, std::vector<ExprPtr> operands, SpecLoc loc, std::string &fault,
                 unsigned &culprit);

/// ToFloat of an i32 or bool node; literals are folded; an f32 node is returned as it is.
ExprPtr toFloat(ExprPtr node);

/// A function of the language and how many operands it takes.
struct ExprFunction {
  llvm::StringLiteral name;
  ExprOp op;
  unsigned minOperands, maxOperands;
};
llvm::ArrayRef<ExprFunction> exprFunctions();

/// Position names in the order of the mask region's arguments; q_idx is the raw query index.
/// q_pos is derived and not among them.
llvm::ArrayRef<llvm::StringRef> exprPositionNames();

} // namespace attnc

#endif // ATTNC_LIB_SPEC_EXPRESSIONNODES_H
