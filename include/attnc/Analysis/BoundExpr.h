// Small integer expressions over symbols: quotients of affine forms under max, min and select, and
// a prover that keeps them small. For KV bounds; not a general algebra, and nothing is emitted
// here.
//
// Simplification is by proof, not by pattern: `max(a, b)` loses `a` when a ≤ b holds in the
// context, which a simplex decides. For a causal mask, min(len_kv, q_last + len_kv − len_q + 1)
// becomes its second operand, since q_last ≤ len_q − 1.
#ifndef ATTNC_ANALYSIS_BOUNDEXPR_H
#define ATTNC_ANALYSIS_BOUNDEXPR_H

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace attnc {

/// Coefficients of the context's symbols, then the constant.
using AffineRow = llvm::SmallVector<int64_t, 8>;

struct BoundExpr;
using BoundRef = std::shared_ptr<const BoundExpr>;

/// One condition of a select: row ≥ 0, or less < than.
struct BoundCondition {
  AffineRow row;
  BoundRef less, than;
};

/// An immutable expression; make them with BoundContext.
struct BoundExpr {
  enum Kind { Quotient, Max, Min, Add, Select } kind;
  /// Quotient: row / divisor (> 0), rounded up or down.
  AffineRow row;
  int64_t divisor = 1;
  bool roundUp = false;
  /// Max, Min, Add: two or more operands. Select: the values if all conditions hold and if not.
  llvm::SmallVector<BoundRef, 2> operands;
  llvm::SmallVector<BoundCondition, 1> conditions;
};

/// What is known of the symbols, and the expressions over them.
class BoundContext {
public:
  /// `facts` has no dimensions; its symbols are those of the rows.
  explicit BoundContext(mlir::presburger::IntegerPolyhedron facts) : facts(std::move(facts)) {}

  unsigned getNumSymbols() const { return facts.getNumSymbolVars(); }
  AffineRow constantRow(int64_t value) const;
  AffineRow symbolRow(unsigned symbol) const;

  /// Whether row ≥ 0 for all integer values of the symbols; false when not proven.
  bool isNonNegative(llvm::ArrayRef<int64_t> row) const;
  /// Whether a ≤ b always; false when not proven.
  bool isLessEqual(const BoundRef &a, const BoundRef &b) const;
  /// Whether every quotient's numerator and every condition's row fits i32, so that i32 arithmetic
  /// (which may wrap on the way) gives the right value.
  bool fitsI32(const BoundRef &expr) const;

  BoundRef constant(int64_t value) const { return quotient(constantRow(value), 1, false); }
  BoundRef symbol(unsigned symbol) const { return quotient(symbolRow(symbol), 1, false); }
  BoundRef quotient(AffineRow row, int64_t divisor, bool roundUp) const;
  BoundRef max(llvm::ArrayRef<BoundRef> operands) const;
  BoundRef min(llvm::ArrayRef<BoundRef> operands) const;
  BoundRef add(BoundRef a, BoundRef b) const;
  /// `whenTrue` if all conditions hold.
  BoundRef select(llvm::ArrayRef<BoundCondition> conditions, BoundRef whenTrue,
                  BoundRef whenFalse) const;

private:
  BoundRef extremum(BoundExpr::Kind kind, llvm::ArrayRef<BoundRef> operands) const;

  mlir::presburger::IntegerPolyhedron facts;
};

} // namespace attnc

#endif // ATTNC_ANALYSIS_BOUNDEXPR_H
