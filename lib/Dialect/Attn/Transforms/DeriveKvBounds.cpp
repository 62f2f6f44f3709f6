// attn-derive-kv-bounds: emits the KV bounds of a mask as a region.
#include "attnc/Analysis/KvBounds.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNDERIVEKVBOUNDS
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using attnc::AffineRow;
using attnc::BoundExpr;
using attnc::BoundRef;

namespace {

/// Arguments of the two regions, which name the same things at the same places but for q and kv.
enum { kBatch = 0, kHead = 1, kFirst = 2, kLast = 3, kLenQ = 4, kLenKv = 5 };

/// Emits bound expressions into a bounds block, in i32 or, where that could overflow, in i64.
class BoundsEmitter {
public:
  BoundsEmitter(ImplicitLocOpBuilder &builder, const attnc::MaskSet &mask,
                const attnc::KvBounds &bounds, Block &maskBlock, Block &block)
      : b(builder), mask(mask), bounds(bounds), maskBlock(maskBlock), block(block),
        type(bounds.fitsI32 ? b.getI32Type() : b.getI64Type()) {
    for (unsigned argument : {kBatch, kHead, kLenQ, kLenKv})
      mapping.map(maskBlock.getArgument(argument), block.getArgument(argument));
  }

  /// The i32 value of a bound.
  Value emitBound(const BoundRef &bound) {
    Value value = emit(bound);
    return type.isInteger(32) ? value : arith::TruncIOp::create(b, b.getI32Type(), value);
  }

private:
  Value constant(int64_t value) {
    Value &known = constants[value];
    if (!known)
      known = arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
    return known;
  }

  /// A value of the mask region (or from around it) inside the bounds region.
  Value inBounds(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &maskBlock)
      return value;
    for (Value operand : op->getOperands())
      inBounds(operand);
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  /// A symbol's value in the arithmetic type.
  Value widened(Value value) {
    if (value.getType().isInteger(1))
      return arith::ExtUIOp::create(b, type, value);
    return type.isInteger(32) ? value : arith::ExtSIOp::create(b, type, value).getResult();
  }

  Value computeSymbol(unsigned column) {
    if (column == bounds.qFirst)
      return widened(block.getArgument(kFirst));
    if (column == bounds.qLast) {
      // Rows from len_q on do not exist.
      Value end = arith::SubIOp::create(b, symbol(bounds.lenQ), constant(1));
      return arith::MinSIOp::create(b, widened(block.getArgument(kLast)), end);
    }
    if (column == bounds.lenQ)
      return widened(block.getArgument(kLenQ));
    if (column == bounds.lenKv)
      return widened(block.getArgument(kLenKv));
    return widened(inBounds(mask.symbols[column]));
  }

  Value symbol(unsigned column) {
    auto known = symbols.find(column);
    if (known != symbols.end())
      return known->second;
    return symbols[column] = computeSymbol(column);
  }

  Value term(unsigned column, int64_t factor) {
    Value value = symbol(column);
    return factor == 1 ? value : arith::MulIOp::create(b, value, constant(factor)).getResult();
  }

  Value emitRow(const AffineRow &row) {
    auto known = rows.find(row);
    if (known != rows.end())
      return known->second;
    unsigned numSymbols = row.size() - 1;
    Value sum;
    if (row.back() != 0) {
      // Bounds often differ by a constant only: the rest is shared.
      AffineRow linear(row);
      linear.back() = 0;
      bool isConstant = llvm::all_of(linear, [](int64_t c) { return c == 0; });
      sum = isConstant ? constant(row.back())
                       : arith::AddIOp::create(b, emitRow(linear), constant(row.back()));
      return rows[row] = sum;
    }
    // What is added comes first: a difference needs no negation then.
    for (unsigned i = 0; i < numSymbols; ++i)
      if (row[i] > 0)
        sum = sum ? arith::AddIOp::create(b, sum, term(i, row[i])).getResult() : term(i, row[i]);
    if (!sum)
      sum = constant(0);
    for (unsigned i = 0; i < numSymbols; ++i)
      if (row[i] < 0)
        sum = arith::SubIOp::create(b, sum, term(i, -row[i]));
    return rows[row] = sum;
  }

  Value emitCondition(const attnc::BoundCondition &condition) {
    if (condition.less)
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, emit(condition.less),
                                   emit(condition.than));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, emitRow(condition.row), constant(0));
  }

  Value compute(const BoundRef &expr) {
    if (expr->kind == BoundExpr::Quotient) {
      Value row = emitRow(expr->row);
      if (expr->divisor == 1)
        return row;
      Value divisor = constant(expr->divisor);
      return expr->roundUp ? arith::CeilDivSIOp::create(b, row, divisor).getResult()
                           : arith::FloorDivSIOp::create(b, row, divisor).getResult();
    }
    if (expr->kind == BoundExpr::Select) {
      Value condition;
      for (const attnc::BoundCondition &item : expr->conditions) {
        Value holds = emitCondition(item);
        condition = condition ? arith::AndIOp::create(b, condition, holds).getResult() : holds;
      }
      Value whenTrue = emit(expr->operands[0]), whenFalse = emit(expr->operands[1]);
      return arith::SelectOp::create(b, condition, whenTrue, whenFalse);
    }
    Value result = emit(expr->operands.front());
    for (const BoundRef &operand : llvm::drop_begin(expr->operands)) {
      Value value = emit(operand);
      if (expr->kind == BoundExpr::Max)
        result = arith::MaxSIOp::create(b, result, value);
      else if (expr->kind == BoundExpr::Min)
        result = arith::MinSIOp::create(b, result, value);
      else
        result = arith::AddIOp::create(b, result, value);
    }
    return result;
  }

  Value emit(const BoundRef &expr) {
    auto known = emitted.find(expr.get());
    if (known != emitted.end())
      return known->second;
    Value value = compute(expr);
    emitted[expr.get()] = value;
    return value;
  }

  ImplicitLocOpBuilder &b;
  const attnc::MaskSet &mask;
  const attnc::KvBounds &bounds;
  Block &maskBlock, &block;
  IntegerType type;
  IRMapping mapping;
  std::map<int64_t, Value> constants;
  std::map<unsigned, Value> symbols;
  std::map<AffineRow, Value> rows;
  DenseMap<const BoundExpr *, Value> emitted;
};

} // namespace

static void emitEverything(ImplicitLocOpBuilder &b, Block &block) {
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value length = block.getArgument(kLenKv);
  YieldOp::create(b, ValueRange{zero, zero, length, length});
}

bool attn::deriveKvBounds(AttentionOpInterface op, unsigned *numOpaque) {
  if (!op.getBounds().empty())
    return false;
  ImplicitLocOpBuilder b(op.getLoc(), op.getContext());
  Block *block = createBoundsBlock(b, op.getBounds(), op.getLoc());
  b.setInsertionPointToEnd(block);
  if (op.getMask().empty()) {
    emitEverything(b, *block);
    return true;
  }

  attnc::MaskSet mask = attnc::computeMaskSet(op.getMask());
  if (numOpaque)
    *numOpaque += mask.numOpaque;
  Block &maskBlock = op.getMask().front();
  attnc::KvBoundsSymbols symbols;
  symbols.headsQ = op.getHeadsQ();
  for (auto [i, symbol] : llvm::enumerate(mask.symbols)) {
    auto argument = dyn_cast<BlockArgument>(symbol);
    if (!argument || argument.getOwner() != &maskBlock)
      continue;
    switch (argument.getArgNumber()) {
    case kBatch:
      symbols.batch = i;
      break;
    case kHead:
      symbols.head = i;
      break;
    case kLenQ:
      symbols.lenQ = i;
      break;
    case kLenKv:
      symbols.lenKv = i;
      break;
    default:
      llvm_unreachable("q and kv are no symbols");
    }
  }
  attnc::KvBounds bounds = attnc::computeKvBounds(mask, symbols);
  BoundsEmitter emitter(b, mask, bounds, maskBlock, *block);
  SmallVector<Value> results;
  for (const BoundRef &bound : {bounds.lower, bounds.fullLower, bounds.fullUpper, bounds.upper})
    results.push_back(emitter.emitBound(bound));
  YieldOp::create(b, results);
  return true;
}

namespace {
struct AttnDeriveKvBounds : public attn::impl::AttnDeriveKvBoundsBase<AttnDeriveKvBounds> {
  using AttnDeriveKvBoundsBase::AttnDeriveKvBoundsBase;

  void runOnOperation() override {
    bool changed = false;
    WalkResult result = getOperation().walk([&](AttentionOpInterface op) {
      if (op.getMasksAttr() && !op.getMasksAttr().empty()) {
        op.emitOpError("has named masks; KV bounds are derived from a mask region: run "
                       "attn-resolve-variant first");
        return WalkResult::interrupt();
      }
      unsigned opaque = 0;
      if (deriveKvBounds(op, &opaque)) {
        ++numDerived;
        numOpaque += opaque;
        changed = true;
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
