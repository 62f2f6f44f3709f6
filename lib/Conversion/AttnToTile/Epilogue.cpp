// From the state of the online softmax to outputs and log-sum-exps.
#include "AttnToTile.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attnc;

RowResults attnc::finishRows(TileBuilder &b, const SoftmaxState &state, double exponentScale,
                             const Varying &sink) {
  auto accType = cast<RankedTensorType>(state.acc.getType());
  int64_t rows = accType.getDimSize(0), columns = accType.getDimSize(1);
  Value zero = b.dense(0.0, rows), one = b.dense(1.0, rows);
  auto isEqual = [&](Value a, Value c) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, a, c);
  };

  // Everything in units of log2: `offset` is what the weights in `sum` were scaled down by.
  Value offset = arith::MulFOp::create(b, state.max, b.dense(exponentScale, rows));
  Value sum = state.sum;
  Value numerator = one;
  if (sink.value) {
    Value logits = sink.axes == kUniform ? b.splat(sink.value, rows) : sink.value;
    Value sink2 = arith::MulFOp::create(b, logits, b.dense(llvm::numbers::log2e, rows));
    Value top = arith::MaxNumFOp::create(b, offset, sink2);
    Value negInf = b.dense(-std::numeric_limits<double>::infinity(), rows);
    Value safe = arith::SelectOp::create(b, isEqual(top, negInf), zero, top);
    numerator = math::Exp2Op::create(b, arith::SubFOp::create(b, offset, safe));
    Value sinkWeight = math::Exp2Op::create(b, arith::SubFOp::create(b, sink2, safe));
    sum = math::FmaOp::create(b, sum, numerator, sinkWeight);
    offset = top;
  }
  // A row without keys has sum 0, offset −∞ and acc 0: dividing by 1 leaves O = 0 and LSE = −∞.
  Value divisor = arith::SelectOp::create(b, isEqual(sum, zero), one, sum);
  Value factor = arith::DivFOp::create(b, numerator, divisor);
  Value o = arith::MulFOp::create(b, state.acc, b.broadcast(factor, /*dim=*/1, columns));
  Value lse2 = arith::AddFOp::create(b, offset, math::Log2Op::create(b, divisor));
  Value lse = arith::MulFOp::create(b, lse2, b.dense(llvm::numbers::ln2, rows));
  return {o, lse};
}
