// The expression language inside a spec's `mask` and `score`: pure, typed, without control flow.
// Text to tree, tree to text, tree to region, region to tree. Not the YAML around it (Spec.h).
//
// Worked example. In a score, with the argument `rel` of type f32[32, ?],
//
//     s + rel[h, kv_pos - q_pos + 511] * 2
//
// parses to Add(s, Mul(Lookup(rel, h, Add(Sub(kv_pos, q_pos), 511)), 2.0)): the literal 2 became
// f32 because its neighbour is. Printing gives `s + rel[h, kv_pos - q_pos + 511] * 2.0`, the normal
// form. Emitting gives, in a score region (s, b, h, q, kv, len_q, len_kv), arith ops and one
// attn.lookup; q_pos is q + (len_kv - len_q).
//
// Both operands of `and`, `or` and both branches of `x if c else y` are evaluated: a condition does
// not protect an index, so an index must be in range everywhere (use min and max).
#ifndef ATTNC_SPEC_EXPRESSION_H
#define ATTNC_SPEC_EXPRESSION_H

#include "attnc/Spec/Spec.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace attnc {

/// i32, f32 or i1.
enum class ExprType { I32, F32, Bool };
/// "i32", "f32" or "bool".
const char *exprTypeName(ExprType type);

enum class ExprOp {
  Literal, ///< `value`, or `integer` when I32 or Bool
  Name,    ///< `name`: a builtin or a scalar argument
  Lookup,  ///< `name`[operands…]: an element of a tensor argument
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv, ///< rounds towards −∞
  Mod,      ///< a − b·floor(a / b): has the sign of b
  Neg,
  Not,
  And,
  Or,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  Select, ///< operands: condition, then, else
  Abs,
  Min,
  Max,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Tanh,
  Floor,
  ToInt,  ///< of f32: truncates towards zero; of bool: 0 or 1
  ToFloat ///< of i32 or bool; the printer leaves it out where promotion implies it
};

/// One node; operands already have the types the op needs (promotions are ToFloat nodes).
struct ExprNode {
  ExprOp op = ExprOp::Literal;
  ExprType type = ExprType::I32;
  SpecLoc loc;
  int64_t integer = 0;
  double value = 0;
  std::string name;
  std::vector<std::unique_ptr<ExprNode>> operands;
};

/// A checked expression and its normal text.
struct Expression {
  std::unique_ptr<ExprNode> root;
  std::string text;
};

/// What an expression is for: a mask yields bool and cannot see `s`; a score yields f32.
enum class ExprRole { Mask, Score };

/// Largest text, tree and nesting accepted; beyond them is an error, never a crash.
inline constexpr size_t kMaxExpressionLength = 8192;
inline constexpr unsigned kMaxExpressionNodes = 2048;
inline constexpr unsigned kMaxExpressionDepth = 128;

/// Parses and checks `text`. `locate` maps an offset in it to the spec file (for op locations);
/// `error` gets the offset and message of the fault. Null after an error.
std::shared_ptr<const Expression>
parseExpression(llvm::StringRef text, ExprRole role, llvm::ArrayRef<SpecArg> args,
                llvm::function_ref<SpecLoc(size_t)> locate,
                llvm::function_ref<void(size_t, const std::string &)> error);

/// Normal text: single spaces, as few parentheses as the tree allows.
std::string printExpression(const ExprNode &root, ExprRole role);

/// Names that arguments cannot have: builtins, functions and keywords.
llvm::ArrayRef<llvm::StringRef> expressionReservedNames();

/// Emits expressions into one mask or score block. `args` are the function's arguments by spec
/// name. Several calls on one block share the value of q_pos.
class ExpressionEmitter {
public:
  ExpressionEmitter(mlir::OpBuilder &builder, mlir::Block *block, ExprRole role,
                    const llvm::StringMap<mlir::Value> &args, llvm::StringRef fileName);
  mlir::Value emit(const ExprNode &node);
  /// The value that `s` stands for; a score list replaces it after each step.
  void setScore(mlir::Value value) { score = value; }
  mlir::Value getScore() const { return score; }

private:
  mlir::Value emitName(const ExprNode &node, mlir::Location loc);
  mlir::Value emitLookup(const ExprNode &node, mlir::Location loc);
  mlir::Value emitFloat(const ExprNode &node, mlir::Location loc, mlir::ValueRange operands);
  mlir::Value emitInt(const ExprNode &node, mlir::Location loc, mlir::ValueRange operands);
  mlir::Value emitBool(const ExprNode &node, mlir::Location loc, mlir::ValueRange operands);
  mlir::Value position(unsigned index) const;

  mlir::OpBuilder &builder;
  mlir::Block *block;
  ExprRole role;
  const llvm::StringMap<mlir::Value> &args;
  std::string fileName;
  mlir::Value score, queryPosition;
};

/// Reads a value of a region (by default the one it yields) back as an expression. `names` are the
/// spec names of captured values (function arguments). Null, with the reason in `why`, when the
/// region holds an op or a size that the language cannot say.
std::shared_ptr<const Expression>
importExpression(mlir::Region &region, ExprRole role,
                 llvm::function_ref<llvm::StringRef(mlir::Value)> names, std::string &why,
                 mlir::Value root = nullptr);

} // namespace attnc

#endif // ATTNC_SPEC_EXPRESSION_H
