// Projects a mask set along q and turns it into bound expressions.
#include "attnc/Analysis/KvBounds.h"

#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir::presburger;
using namespace attnc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// One convex piece after projection, as a range of keys that exists under conditions.
struct KeyRange {
  /// Conditions on symbols alone; the range is empty where one fails.
  SmallVector<BoundCondition> conditions;
  /// The range is [max(lowers), min(uppers)) within [0, len_kv).
  SmallVector<BoundRef> lowers, uppers;
};

class KvBoundsBuilder {
public:
  KvBoundsBuilder(const MaskSet &mask, const KvBoundsSymbols &symbols);
  KvBounds build();

private:
  static IntegerPolyhedron makeFacts(const MaskSet &mask, const KvBoundsSymbols &symbols,
                                     KvBounds &columns);
  std::optional<KeyRange> project(const IntegerRelation &piece) const;
  void visibleRange(BoundRef &lower, BoundRef &upper) const;
  void fullRange(BoundRef &lower, BoundRef &upper) const;

  const MaskSet &mask;
  KvBounds columns;
  IntegerPolyhedron facts;
  BoundContext context;
};

} // namespace

IntegerPolyhedron KvBoundsBuilder::makeFacts(const MaskSet &mask, const KvBoundsSymbols &symbols,
                                             KvBounds &columns) {
  unsigned count = mask.symbols.size();
  columns.qFirst = count++;
  columns.qLast = count++;
  columns.lenQ = symbols.lenQ >= 0 ? symbols.lenQ : count++;
  columns.lenKv = symbols.lenKv >= 0 ? symbols.lenKv : count++;
  columns.numSymbols = count;

  IntegerPolyhedron facts(PresburgerSpace::getSetSpace(/*numDims=*/0, /*numSymbols=*/count));
  for (auto [i, symbol] : llvm::enumerate(mask.symbols)) {
    bool isBool = symbol.getType().isInteger(1);
    facts.addBound(BoundType::LB, i, isBool ? 0 : std::numeric_limits<int32_t>::min());
    facts.addBound(BoundType::UB, i, isBool ? 1 : std::numeric_limits<int32_t>::max());
  }
  for (int index : {symbols.batch, symbols.head})
    if (index >= 0)
      facts.addBound(BoundType::LB, index, 0);
  if (symbols.head >= 0)
    facts.addBound(BoundType::UB, symbols.head, symbols.headsQ - 1);
  facts.addBound(BoundType::LB, columns.qFirst, 0);
  facts.addBound(BoundType::LB, columns.lenKv, 0);
  for (unsigned length : {columns.lenQ, columns.lenKv})
    facts.addBound(BoundType::UB, length, kMaxSequenceLength);
  auto atMost = [&](unsigned small, unsigned large, int64_t slack) {
    SmallVector<int64_t> row(count + 1);
    row[large] = 1;
    row[small] = -1;
    row.back() = -slack;
    facts.addInequality(row);
  };
  atMost(columns.qFirst, columns.qLast, 0);
  atMost(columns.qLast, columns.lenQ, 1);
  return facts;
}

KvBoundsBuilder::KvBoundsBuilder(const MaskSet &mask, const KvBoundsSymbols &symbols)
    : mask(mask), facts(makeFacts(mask, symbols, columns)), context(facts) {}

/// Adds the facts and 0 ≤ kv < len_kv to a polyhedron whose dimensions end with kv.
static void addFacts(IntegerPolyhedron &polyhedron, const IntegerPolyhedron &facts,
                     unsigned lenKv) {
  unsigned numDims = polyhedron.getNumDimVars();
  for (unsigned i = 0; i < facts.getNumInequalities(); ++i) {
    SmallVector<int64_t> row(numDims, 0);
    llvm::append_range(row, facts.getInequality64(i));
    polyhedron.addInequality(row);
  }
  SmallVector<int64_t> row(polyhedron.getNumCols());
  row[numDims - 1] = 1;
  polyhedron.addInequality(row);
  row[numDims - 1] = -1;
  row[numDims + lenKv] = 1;
  row.back() = -1;
  polyhedron.addInequality(row);
}

/// A constraint as int64, if it fits.
static std::optional<AffineRow> toRow(ArrayRef<llvm::DynamicAPInt> constraint) {
  // Leaves room for the sums and products of later comparisons.
  const llvm::DynamicAPInt limit(int64_t(1) << 60);
  AffineRow row;
  for (const llvm::DynamicAPInt &c : constraint) {
    if (c > limit || c < -limit)
      return std::nullopt;
    row.push_back(int64_t(c));
  }
  return row;
}

std::optional<KeyRange> KvBoundsBuilder::project(const IntegerRelation &piece) const {
  // Dimensions q, kv; symbols as in the facts.
  IntegerPolyhedron polyhedron{piece};
  polyhedron.appendVar(VarKind::Symbol, columns.numSymbols - mask.symbols.size());
  unsigned first = kMaskFirstSymbol;
  SmallVector<int64_t> row(polyhedron.getNumCols());
  row[kMaskQ] = 1;
  row[first + columns.qFirst] = -1;
  polyhedron.addInequality(row); // q ≥ q_first
  row[kMaskQ] = -1;
  row[first + columns.qFirst] = 0;
  row[first + columns.qLast] = 1;
  polyhedron.addInequality(row); // q ≤ q_last
  IntegerPolyhedron known = polyhedron;
  addFacts(known, facts, columns.lenKv);
  if (Simplex(known).isEmpty())
    return std::nullopt;

  polyhedron.projectOut(kMaskQ);
  // Rows over kv, the symbols, the constant. A row that does not fit is dropped: sound.
  SmallVector<AffineRow> rows;
  for (unsigned i = 0; i < polyhedron.getNumInequalities(); ++i)
    if (auto inequality = toRow(polyhedron.getInequality(i)))
      rows.push_back(*inequality);
  for (unsigned i = 0; i < polyhedron.getNumEqualities(); ++i)
    if (auto equality = toRow(polyhedron.getEquality(i))) {
      rows.push_back(*equality);
      for (int64_t &c : *equality)
        c = -c;
      rows.push_back(*equality);
    }
  // Conditions on symbols first, so that those are dropped which an empty range implies.
  llvm::stable_sort(rows, [](const AffineRow &a, const AffineRow &b) {
    return (a.front() == 0) > (b.front() == 0);
  });
  for (size_t i = 0; i < rows.size();) {
    IntegerPolyhedron others(PresburgerSpace::getSetSpace(1, columns.numSymbols));
    addFacts(others, facts, columns.lenKv);
    for (size_t j = 0; j < rows.size(); ++j)
      if (j != i)
        others.addInequality(rows[j]);
    SmallVector<int64_t> negated;
    for (int64_t c : rows[i])
      negated.push_back(-c);
    negated.back() -= 1;
    others.addInequality(negated);
    if (Simplex(others).isEmpty())
      rows.erase(rows.begin() + i);
    else
      ++i;
  }

  KeyRange range;
  for (const AffineRow &constraint : rows) {
    int64_t factor = constraint.front();
    AffineRow rest(llvm::drop_begin(constraint));
    if (factor == 0) {
      range.conditions.push_back({rest, nullptr, nullptr});
    } else if (factor > 0) { // kv ≥ ⌈−rest / factor⌉
      for (int64_t &c : rest)
        c = -c;
      range.lowers.push_back(context.quotient(rest, factor, /*roundUp=*/true));
    } else { // kv < ⌊rest / −factor⌋ + 1
      rest.back() += -factor;
      range.uppers.push_back(context.quotient(rest, -factor, /*roundUp=*/false));
    }
  }
  return range;
}

void KvBoundsBuilder::visibleRange(BoundRef &lower, BoundRef &upper) const {
  BoundRef zero = context.constant(0), length = context.symbol(columns.lenKv);
  struct Range {
    BoundRef lower, upper;
  };
  SmallVector<Range> ranges;
  for (const IntegerRelation &piece : mask.mayShow.getAllDisjuncts()) {
    auto range = project(piece);
    if (!range)
      continue;
    range->lowers.push_back(zero);
    range->uppers.push_back(length);
    ranges.push_back({context.max(range->lowers),
                      context.select(range->conditions, context.min(range->uppers), zero)});
  }
  // Ranges that begin together, or end together, have the hull of their other ends even when some
  // are empty; only the rest needs to be tested for emptiness.
  auto equal = [&](const BoundRef &a, const BoundRef &b) {
    return context.isLessEqual(a, b) && context.isLessEqual(b, a);
  };
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size();) {
      if (equal(ranges[i].lower, ranges[j].lower))
        ranges[i].upper = context.max({ranges[i].upper, ranges[j].upper});
      else if (equal(ranges[i].upper, ranges[j].upper))
        ranges[i].lower = context.min({ranges[i].lower, ranges[j].lower});
      else {
        ++j;
        continue;
      }
      ranges.erase(ranges.begin() + j);
      j = i + 1;
    }
  if (ranges.empty()) {
    lower = upper = zero;
    return;
  }
  lower = ranges.front().lower;
  upper = ranges.front().upper;
  if (ranges.size() == 1)
    return;
  SmallVector<BoundRef> lowers, uppers;
  for (const Range &range : ranges) {
    BoundCondition exists{{}, range.lower, range.upper};
    lowers.push_back(context.select(exists, range.lower, length));
    uppers.push_back(context.select(exists, range.upper, zero));
  }
  lower = context.min(lowers);
  upper = context.max(uppers);
}

void KvBoundsBuilder::fullRange(BoundRef &lower, BoundRef &upper) const {
  BoundRef zero = context.constant(0), length = context.symbol(columns.lenKv);
  lower = zero;
  upper = length;
  SmallVector<KeyRange> middles;
  for (const IntegerRelation &piece : mask.mayHide.getAllDisjuncts()) {
    auto hidden = project(piece);
    if (!hidden)
      continue;
    if (!hidden->lowers.empty() && !hidden->uppers.empty()) {
      middles.push_back(*hidden);
    } else if (hidden->uppers.empty()) {
      hidden->lowers.push_back(zero);
      upper = context.min(
          {upper, context.select(hidden->conditions, context.max(hidden->lowers), length)});
    } else {
      lower = context.max(
          {lower, context.select(hidden->conditions, context.min(hidden->uppers), zero)});
    }
  }
  // Each hidden range in the middle of what is left costs one of its sides.
  for (const KeyRange &middle : middles) {
    BoundRef begin = context.max(middle.lowers), end = context.min(middle.uppers);
    SmallVector<BoundCondition> cuts = middle.conditions;
    cuts.push_back({{}, begin, end});
    cuts.push_back({{}, lower, end});
    cuts.push_back({{}, begin, upper});
    // begin − lower < upper − end: the part above is the larger one.
    BoundCondition above{{}, context.add(begin, end), context.add(lower, upper)};
    BoundRef newLower = context.select(cuts, context.select(above, end, lower), lower);
    upper = context.select(cuts, context.select(above, upper, begin), upper);
    lower = newLower;
  }
}

KvBounds KvBoundsBuilder::build() {
  BoundRef length = context.symbol(columns.lenKv);
  KvBounds result = columns;
  BoundRef lower, upper, fullLower, fullUpper;
  visibleRange(lower, upper);
  fullRange(fullLower, fullUpper);
  result.lower = context.min({lower, length});
  result.upper = context.max({upper, result.lower});
  result.fullLower = context.min({context.max({fullLower, result.lower}), result.upper});
  result.fullUpper = context.min({context.max({fullUpper, result.fullLower}), result.upper});
  result.fitsI32 = llvm::all_of(
      llvm::ArrayRef<BoundRef>{result.lower, result.upper, result.fullLower, result.fullUpper},
      [&](const BoundRef &bound) { return context.fitsI32(bound); });
  return result;
}

KvBounds attnc::computeKvBounds(const MaskSet &mask, const KvBoundsSymbols &symbols) {
  return KvBoundsBuilder(mask, symbols).build();
}
