// Bound expressions: construction with simplification by proof.
#include "attnc/Analysis/BoundExpr.h"

#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mlir::presburger;
using namespace attnc;
using llvm::ArrayRef;
using llvm::SmallVector;

AffineRow BoundContext::constantRow(int64_t value) const {
  AffineRow row(getNumSymbols() + 1);
  row.back() = value;
  return row;
}

AffineRow BoundContext::symbolRow(unsigned symbol) const {
  AffineRow row(getNumSymbols() + 1);
  row[symbol] = 1;
  return row;
}

static bool isConstantRow(ArrayRef<int64_t> row) {
  return llvm::all_of(row.drop_back(), [](int64_t c) { return c == 0; });
}

/// x · row − y · other, or nothing when it leaves int64.
static std::optional<AffineRow> subtract(ArrayRef<int64_t> row, int64_t x, ArrayRef<int64_t> other,
                                         int64_t y) {
  AffineRow result(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    int64_t a, b;
    if (llvm::MulOverflow(row[i], x, a) || llvm::MulOverflow(other[i], y, b) ||
        llvm::SubOverflow(a, b, result[i]))
      return std::nullopt;
  }
  return result;
}

bool BoundContext::isNonNegative(ArrayRef<int64_t> row) const {
  if (isConstantRow(row))
    return row.back() >= 0;
  // Over the integers row ≥ 0 fails exactly where row ≤ −1.
  IntegerPolyhedron counterexamples = facts;
  AffineRow negated(row.size());
  for (auto [to, from] : llvm::zip(negated, row)) {
    if (from == std::numeric_limits<int64_t>::min())
      return false;
    to = -from;
  }
  if (llvm::SubOverflow(negated.back(), int64_t(1), negated.back()))
    return false;
  counterexamples.addInequality(negated);
  return Simplex(counterexamples).isEmpty();
}

bool BoundContext::isLessEqual(const BoundRef &a, const BoundRef &b) const {
  if (a == b)
    return true;
  // Conditions may be ignored: both values of a select are then bounded.
  if (a->kind == BoundExpr::Max || a->kind == BoundExpr::Select)
    return llvm::all_of(a->operands, [&](const BoundRef &x) { return isLessEqual(x, b); });
  if (b->kind == BoundExpr::Min || b->kind == BoundExpr::Select)
    return llvm::all_of(b->operands, [&](const BoundRef &x) { return isLessEqual(a, x); });
  if (a->kind == BoundExpr::Min)
    return llvm::any_of(a->operands, [&](const BoundRef &x) { return isLessEqual(x, b); });
  if (b->kind == BoundExpr::Max)
    return llvm::any_of(b->operands, [&](const BoundRef &x) { return isLessEqual(a, x); });
  if (a->kind != BoundExpr::Quotient || b->kind != BoundExpr::Quotient)
    return false;
  // Rounding is monotone, so quotients rounded alike compare like their fractions; rounding a down
  // or b up only helps. Rounding a up against an integer b does no harm either.
  if (a->roundUp && b->divisor > 1 && !b->roundUp)
    return false;
  auto difference = subtract(b->row, a->divisor, a->row, b->divisor);
  if (!difference)
    return false;
  // Against an integer, rounding the other side gains almost a whole unit.
  if (b->divisor == 1 && !a->roundUp)
    difference->back() += a->divisor - 1;
  else if (a->divisor == 1 && b->roundUp)
    difference->back() += b->divisor - 1;
  return isNonNegative(*difference);
}

static bool rowFitsI32(const BoundContext &context, ArrayRef<int64_t> row) {
  AffineRow above(row), below(row.size());
  for (auto [to, from] : llvm::zip(below, row))
    to = -from;
  // row ≥ −2^31 and −row ≥ −(2^31 − 1)
  above.back() += int64_t(1) << 31;
  below.back() += (int64_t(1) << 31) - 1;
  return context.isNonNegative(above) && context.isNonNegative(below);
}

bool BoundContext::fitsI32(const BoundRef &expr) const {
  constexpr int64_t limit = int64_t(1) << 40;
  auto fits = [&](ArrayRef<int64_t> row) {
    return llvm::all_of(row, [](int64_t c) { return -limit < c && c < limit; }) &&
           rowFitsI32(*this, row);
  };
  if (expr->kind == BoundExpr::Quotient)
    return fits(expr->row) && expr->divisor < limit >> 10;
  // A sum of two bounds need not fit.
  if (expr->kind == BoundExpr::Add)
    return false;
  for (const BoundCondition &condition : expr->conditions) {
    if (condition.less ? !fitsI32(condition.less) || !fitsI32(condition.than)
                       : !fits(condition.row))
      return false;
  }
  return llvm::all_of(expr->operands, [&](const BoundRef &x) { return fitsI32(x); });
}

BoundRef BoundContext::quotient(AffineRow row, int64_t divisor, bool roundUp) const {
  int64_t common = divisor;
  for (int64_t c : ArrayRef<int64_t>(row).drop_back())
    common = std::gcd(common, c);
  // Divides out what all coefficients share; the constant's rest is lost by rounding alike.
  if (common > 1) {
    for (int64_t &c : llvm::MutableArrayRef<int64_t>(row).drop_back())
      c /= common;
    row.back() = roundUp ? llvm::divideCeilSigned(row.back(), common)
                         : llvm::divideFloorSigned(row.back(), common);
    divisor /= common;
  }
  auto expr = std::make_shared<BoundExpr>();
  expr->kind = BoundExpr::Quotient;
  expr->row = std::move(row);
  expr->divisor = divisor;
  expr->roundUp = divisor > 1 && roundUp;
  return expr;
}

BoundRef BoundContext::extremum(BoundExpr::Kind kind, ArrayRef<BoundRef> operands) const {
  SmallVector<BoundRef> flat;
  for (const BoundRef &operand : operands) {
    if (operand->kind == kind)
      flat.append(operand->operands.begin(), operand->operands.end());
    else
      flat.push_back(operand);
  }
  // Keeps an operand unless another kept (or still to come) one makes it superfluous.
  SmallVector<BoundRef> kept;
  for (size_t i = 0; i < flat.size(); ++i) {
    auto dominates = [&](const BoundRef &other) {
      return kind == BoundExpr::Max ? isLessEqual(flat[i], other) : isLessEqual(other, flat[i]);
    };
    bool superfluous = llvm::any_of(kept, dominates);
    for (size_t j = i + 1; j < flat.size() && !superfluous; ++j) {
      // Of two equal ones the first is kept.
      bool reverse =
          kind == BoundExpr::Max ? isLessEqual(flat[j], flat[i]) : isLessEqual(flat[i], flat[j]);
      superfluous = !reverse && dominates(flat[j]);
    }
    if (!superfluous)
      kept.push_back(flat[i]);
  }
  if (kept.size() == 1)
    return kept.front();
  auto expr = std::make_shared<BoundExpr>();
  expr->kind = kind;
  expr->operands.append(kept.begin(), kept.end());
  return expr;
}

BoundRef BoundContext::max(ArrayRef<BoundRef> operands) const {
  return extremum(BoundExpr::Max, operands);
}

BoundRef BoundContext::min(ArrayRef<BoundRef> operands) const {
  return extremum(BoundExpr::Min, operands);
}

BoundRef BoundContext::add(BoundRef a, BoundRef b) const {
  auto expr = std::make_shared<BoundExpr>();
  expr->kind = BoundExpr::Add;
  expr->operands = {std::move(a), std::move(b)};
  return expr;
}

BoundRef BoundContext::select(ArrayRef<BoundCondition> conditions, BoundRef whenTrue,
                              BoundRef whenFalse) const {
  auto expr = std::make_shared<BoundExpr>();
  expr->kind = BoundExpr::Select;
  for (const BoundCondition &condition : conditions) {
    if (condition.less) {
      if (isLessEqual(condition.than, condition.less))
        return whenFalse;
      // less < than is less + 1 ≤ than: provable here only for quotients by 1.
      if (condition.less->kind == BoundExpr::Quotient && condition.less->divisor == 1) {
        AffineRow next = condition.less->row;
        next.back() += 1;
        if (isLessEqual(quotient(next, 1, false), condition.than))
          continue;
      }
    } else {
      if (isNonNegative(condition.row))
        continue;
      AffineRow negated;
      for (int64_t c : condition.row)
        negated.push_back(-c);
      negated.back() -= 1;
      if (isNonNegative(negated))
        return whenFalse;
    }
    expr->conditions.push_back(condition);
  }
  if (expr->conditions.empty())
    return whenTrue;
  if (isLessEqual(whenTrue, whenFalse) && isLessEqual(whenFalse, whenTrue))
    return whenTrue;
  expr->operands = {std::move(whenTrue), std::move(whenFalse)};
  return expr;
}
