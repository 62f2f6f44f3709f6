// Extracts the two polyhedral sets of a mask region.
#include "attnc/Analysis/MaskSet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

using namespace mlir;
using namespace attnc;

namespace {

/// Coefficients of q, kv and the symbols found so far (missing ones are 0), and a constant.
struct Affine {
  SmallVector<int64_t> coefficients;
  int64_t constant = 0;

  static Affine variable(unsigned column) {
    Affine result;
    result.coefficients.resize(column + 1);
    result.coefficients[column] = 1;
    return result;
  }
  bool isConstant() const {
    return llvm::all_of(coefficients, [](int64_t c) { return c == 0; });
  }
  /// this + factor · other
  Affine plus(const Affine &other, int64_t factor) const {
    Affine result = *this;
    if (result.coefficients.size() < other.coefficients.size())
      result.coefficients.resize(other.coefficients.size());
    for (auto [i, c] : llvm::enumerate(other.coefficients))
      result.coefficients[i] += factor * c;
    result.constant += factor * other.constant;
    return result;
  }
  /// Beyond this the mask's own i32 arithmetic overflows, and ours could.
  bool isSmall() const {
    constexpr int64_t limit = int64_t(1) << 40;
    return std::abs(constant) < limit &&
           llvm::all_of(coefficients, [](int64_t c) { return std::abs(c) < limit; });
  }
};

/// All of these are ≥ 0.
using Conjunction = SmallVector<Affine, 2>;
/// Any of these hold. One empty conjunction is "true", none at all is "false".
using Disjunction = SmallVector<Conjunction, 2>;

/// An i32 value by cases: it is `value` where `condition` holds.
struct Case {
  Conjunction condition;
  Affine value;
};

class MaskExtractor {
public:
  explicit MaskExtractor(Block &mask) : mask(mask) {}

  Disjunction whereYieldIs(bool truth) {
    Value yielded = mask.getTerminator()->getOperand(0);
    // The extraction recurses along operands; masks written by people are far below this.
    if (mask.getOperations().size() > kMaxOps)
      return opaqueCondition(yielded);
    return where(yielded, truth);
  }

  SmallVector<Value> symbols;
  llvm::SmallPtrSet<Value, 4> opaque;

private:
  /// More than this is not worth its compile time; dropping constraints stays sound.
  static constexpr size_t kMaxPieces = 32, kMaxConstraints = 16, kMaxCases = 8, kMaxOps = 1000;

  static Disjunction always() { return {Conjunction()}; }
  static Disjunction never() { return {}; }

  static Disjunction either(Disjunction a, Disjunction b) {
    if (a.size() + b.size() > kMaxPieces)
      return always();
    a.append(b.begin(), b.end());
    return a;
  }

  static Disjunction both(const Disjunction &a, const Disjunction &b) {
    // Keeping only one operand of a conjunction over-approximates it.
    if (a.size() * b.size() > kMaxPieces)
      return a.size() <= b.size() ? a : b;
    Disjunction result;
    for (const Conjunction &x : a)
      for (const Conjunction &y : b) {
        result.push_back(x);
        result.back().append(y.begin(), y.end());
        if (result.back().size() > kMaxConstraints)
          result.back().truncate(kMaxConstraints);
      }
    return result;
  }

  bool dependsOnPosition(Value value) {
    if (auto arg = dyn_cast<BlockArgument>(value))
      return arg.getOwner() == &mask && (arg.getArgNumber() == 2 || arg.getArgNumber() == 3);
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != &mask)
      return false;
    // What an op with regions captures is not among its operands.
    if (op->getNumRegions() != 0)
      return true;
    auto found = dependent.find(value);
    if (found != dependent.end())
      return found->second;
    bool result = llvm::any_of(op->getOperands(), [&](Value v) { return dependsOnPosition(v); });
    dependent[value] = result;
    return result;
  }

  Affine symbol(Value value) {
    auto [entry, isNew] = symbolColumns.try_emplace(value, kMaskFirstSymbol + symbols.size());
    if (isNew)
      symbols.push_back(value);
    return Affine::variable(entry->second);
  }

  Disjunction opaqueCondition(Value value) {
    opaque.insert(value);
    return always();
  }

  static std::optional<int64_t> constantOf(Value value) {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)))
      return std::nullopt;
    return constant.getSExtValue();
  }

  std::optional<SmallVector<Case>> casesOf(Value value);
  std::optional<SmallVector<Case>> computeCases(Value value);
  std::optional<SmallVector<Case>> combine(Value lhs, Value rhs, int64_t factor);
  std::optional<SmallVector<Case>> extremum(Value lhs, Value rhs, bool isMax);
  Disjunction where(Value value, bool truth);
  Disjunction computeWhere(Value value, bool truth);
  Disjunction whereCompare(arith::CmpIOp op, bool truth);
  static Disjunction compare(arith::CmpIPredicate predicate, const Affine &a, const Affine &b);

  Block &mask;
  DenseMap<Value, bool> dependent;
  DenseMap<Value, unsigned> symbolColumns;
  // Regions are graphs, not trees: without these a shared value would be taken apart per use.
  DenseMap<Value, std::optional<SmallVector<Case>>> knownCases;
  DenseMap<std::pair<Value, unsigned>, Disjunction> knownWhere;
};

} // namespace

/// lhs + factor · rhs
std::optional<SmallVector<Case>> MaskExtractor::combine(Value lhs, Value rhs, int64_t factor) {
  auto a = casesOf(lhs), b = casesOf(rhs);
  if (!a || !b || a->size() * b->size() > kMaxCases)
    return std::nullopt;
  SmallVector<Case> result;
  for (const Case &x : *a)
    for (const Case &y : *b) {
      Case sum{x.condition, x.value.plus(y.value, factor)};
      sum.condition.append(y.condition.begin(), y.condition.end());
      if (!sum.value.isSmall())
        return std::nullopt;
      result.push_back(sum);
    }
  return result;
}

std::optional<SmallVector<Case>> MaskExtractor::extremum(Value lhs, Value rhs, bool isMax) {
  auto a = casesOf(lhs), b = casesOf(rhs);
  if (!a || !b || 2 * a->size() * b->size() > kMaxCases)
    return std::nullopt;
  SmallVector<Case> result;
  for (const Case &x : *a)
    for (const Case &y : *b) {
      Conjunction condition = x.condition;
      condition.append(y.condition.begin(), y.condition.end());
      // x wins where difference ≥ 0, y where it is ≤ −1.
      Affine difference = isMax ? x.value.plus(y.value, -1) : y.value.plus(x.value, -1);
      Case first{condition, x.value}, second{condition, y.value};
      first.condition.push_back(difference);
      Affine negated = Affine().plus(difference, -1);
      negated.constant -= 1;
      second.condition.push_back(negated);
      result.push_back(first);
      result.push_back(second);
    }
  return result;
}

std::optional<SmallVector<Case>> MaskExtractor::casesOf(Value value) {
  auto found = knownCases.find(value);
  if (found != knownCases.end())
    return found->second;
  auto cases = computeCases(value);
  knownCases[value] = cases;
  return cases;
}

std::optional<SmallVector<Case>> MaskExtractor::computeCases(Value value) {
  auto single = [](Affine affine) { return SmallVector<Case>{{Conjunction(), std::move(affine)}}; };
  if (!value.getType().isInteger(32))
    return std::nullopt;
  if (auto constant = constantOf(value)) {
    Affine affine;
    affine.constant = *constant;
    return single(affine);
  }
  if (auto arg = dyn_cast<BlockArgument>(value); arg && dependsOnPosition(value))
    return single(Affine::variable(arg.getArgNumber() == 2 ? kMaskQ : kMaskKv));

  Operation *op = value.getDefiningOp();
  bool isLocal = op && op->getBlock() == &mask;
  std::optional<SmallVector<Case>> result;
  if (isLocal) {
    if (auto add = dyn_cast<arith::AddIOp>(op))
      result = combine(add.getLhs(), add.getRhs(), 1);
    else if (auto sub = dyn_cast<arith::SubIOp>(op))
      result = combine(sub.getLhs(), sub.getRhs(), -1);
    else if (auto mul = dyn_cast<arith::MulIOp>(op)) {
      Value variable = mul.getLhs();
      auto factor = constantOf(mul.getRhs());
      if (!factor) {
        factor = constantOf(mul.getLhs());
        variable = mul.getRhs();
      }
      if (factor && (result = casesOf(variable)))
        for (Case &scaled : *result) {
          scaled.value = Affine().plus(scaled.value, *factor);
          if (!scaled.value.isSmall()) {
            result.reset();
            break;
          }
        }
    }
  }
  if (result)
    return result;
  // Splitting a value that is the same for all positions would only multiply pieces.
  if (!dependsOnPosition(value))
    return single(symbol(value));
  if (auto max = dyn_cast<arith::MaxSIOp>(op))
    return extremum(max.getLhs(), max.getRhs(), /*isMax=*/true);
  if (auto min = dyn_cast<arith::MinSIOp>(op))
    return extremum(min.getLhs(), min.getRhs(), /*isMax=*/false);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto onTrue = casesOf(select.getTrueValue()), onFalse = casesOf(select.getFalseValue());
    if (!onTrue || !onFalse)
      return std::nullopt;
    Disjunction isTrue = where(select.getCondition(), true);
    Disjunction isFalse = where(select.getCondition(), false);
    if (isTrue.size() * onTrue->size() + isFalse.size() * onFalse->size() > kMaxCases)
      return std::nullopt;
    SmallVector<Case> cases;
    auto append = [&](const Disjunction &when, const SmallVector<Case> &values) {
      for (const Conjunction &condition : when)
        for (Case item : values) {
          item.condition.append(condition.begin(), condition.end());
          cases.push_back(item);
        }
    };
    append(isTrue, *onTrue);
    append(isFalse, *onFalse);
    return cases;
  }
  return std::nullopt;
}

Disjunction MaskExtractor::compare(arith::CmpIPredicate predicate, const Affine &a,
                                   const Affine &b) {
  auto atMost = [](const Affine &small, const Affine &large, int64_t slack) {
    Affine difference = large.plus(small, -1);
    difference.constant -= slack;
    return difference;
  };
  switch (predicate) {
  case arith::CmpIPredicate::sle:
    return {{atMost(a, b, 0)}};
  case arith::CmpIPredicate::slt:
    return {{atMost(a, b, 1)}};
  case arith::CmpIPredicate::sge:
    return {{atMost(b, a, 0)}};
  case arith::CmpIPredicate::sgt:
    return {{atMost(b, a, 1)}};
  case arith::CmpIPredicate::eq:
    return {{atMost(a, b, 0), atMost(b, a, 0)}};
  case arith::CmpIPredicate::ne:
    return {{atMost(a, b, 1)}, {atMost(b, a, 1)}};
  default:
    llvm_unreachable("unsigned comparisons are opaque");
  }
}

Disjunction MaskExtractor::whereCompare(arith::CmpIOp op, bool truth) {
  arith::CmpIPredicate predicate = op.getPredicate();
  if (op.getLhs().getType().isInteger(1)) {
    bool isEqual = predicate == arith::CmpIPredicate::eq;
    if (!isEqual && predicate != arith::CmpIPredicate::ne)
      return opaqueCondition(op);
    bool same = isEqual == truth;
    return either(both(where(op.getLhs(), true), where(op.getRhs(), same)),
                  both(where(op.getLhs(), false), where(op.getRhs(), !same)));
  }
  bool isSigned = predicate <= arith::CmpIPredicate::sge;
  auto a = isSigned ? casesOf(op.getLhs()) : std::nullopt;
  auto b = a ? casesOf(op.getRhs()) : std::nullopt;
  if (!a || !b)
    return opaqueCondition(op);
  if (!truth)
    predicate = arith::invertPredicate(predicate);
  // The cases of a value cover everything, so the negation distributes over them too.
  Disjunction result = never();
  for (const Case &x : *a)
    for (const Case &y : *b)
      result = either(std::move(result), both(both({x.condition}, {y.condition}),
                                              compare(predicate, x.value, y.value)));
  return result;
}

/// Over-approximates where the i1 `value` equals `truth`.
Disjunction MaskExtractor::where(Value value, bool truth) {
  auto found = knownWhere.find({value, unsigned(truth)});
  if (found != knownWhere.end())
    return found->second;
  Disjunction pieces = computeWhere(value, truth);
  knownWhere[{value, unsigned(truth)}] = pieces;
  return pieces;
}

Disjunction MaskExtractor::computeWhere(Value value, bool truth) {
  if (auto constant = constantOf(value))
    return (*constant != 0) == truth ? always() : never();
  Operation *op = value.getDefiningOp();
  if (op && op->getBlock() == &mask) {
    if (auto conjunction = dyn_cast<arith::AndIOp>(op)) {
      Disjunction a = where(conjunction.getLhs(), truth), b = where(conjunction.getRhs(), truth);
      return truth ? both(a, b) : either(a, b);
    }
    if (auto disjunction = dyn_cast<arith::OrIOp>(op)) {
      Disjunction a = where(disjunction.getLhs(), truth), b = where(disjunction.getRhs(), truth);
      return truth ? either(a, b) : both(a, b);
    }
    if (auto exclusive = dyn_cast<arith::XOrIOp>(op))
      return either(both(where(exclusive.getLhs(), true), where(exclusive.getRhs(), !truth)),
                    both(where(exclusive.getLhs(), false), where(exclusive.getRhs(), truth)));
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return either(
          both(where(select.getCondition(), true), where(select.getTrueValue(), truth)),
          both(where(select.getCondition(), false), where(select.getFalseValue(), truth)));
  }
  bool uniform = !dependsOnPosition(value);
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
      comparison && op->getBlock() == &mask) {
    bool isAffine = comparison.getLhs().getType().isInteger(1) ||
                    (comparison.getPredicate() <= arith::CmpIPredicate::sge &&
                     casesOf(comparison.getLhs()) && casesOf(comparison.getRhs()));
    if (isAffine || !uniform)
      return whereCompare(comparison, truth);
  }
  if (!uniform)
    return opaqueCondition(value);
  Affine guard = Affine().plus(symbol(value), truth ? 1 : -1);
  guard.constant = truth ? -1 : 0;
  return {{guard}};
}

MaskSet attnc::computeMaskSet(Region &mask) {
  MaskExtractor extractor(mask.front());
  Disjunction show = extractor.whereYieldIs(true), hide = extractor.whereYieldIs(false);

  auto space = presburger::PresburgerSpace::getSetSpace(/*numDims=*/2, extractor.symbols.size());
  unsigned columns = kMaskFirstSymbol + extractor.symbols.size() + 1;
  auto toSet = [&](const Disjunction &pieces) {
    auto set = presburger::PresburgerSet::getEmpty(space);
    for (const Conjunction &piece : pieces) {
      presburger::IntegerPolyhedron polyhedron(space);
      for (const Affine &constraint : piece) {
        SmallVector<int64_t> row(constraint.coefficients);
        row.resize(columns);
        row.back() = constraint.constant;
        polyhedron.addInequality(row);
      }
      set.unionInPlace(polyhedron);
    }
    return set.getNumDisjuncts() > 1 ? set.coalesce() : set;
  };
  return MaskSet{extractor.symbols, toSet(show), toSet(hide),
                 static_cast<unsigned>(extractor.opaque.size())};
}
