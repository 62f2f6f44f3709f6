// host-vectorize: the pass, and the register-blocked form of a product.
#include "Vectorize.h"

#include "attnc/Host/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {
#define GEN_PASS_DEF_HOSTVECTORIZE
#include "attnc/Host/Passes.h.inc"

static int64_t largestDivisor(int64_t value, int64_t limit) {
  for (int64_t divisor = std::min(value, limit); divisor > 1; --divisor)
    if (value % divisor == 0)
      return divisor;
  return 1;
}

/// Products are summed in runs of this many, and the runs' sums added to the result: the rounding
/// error of a sum of K equal terms falls from about √(K/3) to about (√(32/3) + √(K/96))·½ of what
/// one running sum of 32 has. Without it an LSE of a near-one-hot row is off by 6 ulp at K = 128.
static constexpr int64_t kRunLength = 32;

LogicalResult vectorizeMatmul(RewriterBase &rewriter, linalg::MatmulOp op,
                              const VectorShape &shape) {
  if (!op.hasPureBufferSemantics())
    return failure();
  Value a = op.getInputs()[0], b = op.getInputs()[1], c = op.getOutputs()[0];
  for (Value operand : {a, b, c}) {
    auto type = cast<MemRefType>(operand.getType());
    if (!type.hasStaticShape() || !type.getElementType().isF32() || !type.getLayout().isIdentity())
      return failure();
  }
  int64_t m = cast<MemRefType>(c.getType()).getDimSize(0);
  int64_t n = cast<MemRefType>(c.getType()).getDimSize(1);
  int64_t k = cast<MemRefType>(a.getType()).getDimSize(1);
  int64_t lanes = std::min<int64_t>(shape.lanes, int64_t(1) << llvm::countr_zero(uint64_t(n)));
  int64_t columns = largestDivisor(n / lanes, shape.columns);
  int64_t rows = largestDivisor(m, shape.rows);
  int64_t run = largestDivisor(k, kRunLength);
  auto vectorType = VectorType::get(lanes, rewriter.getF32Type());

  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value).getResult();
  };
  auto plus = [&](OpBuilder &builder, Value base, int64_t offset) -> Value {
    if (offset == 0)
      return base;
    Value amount = arith::ConstantIndexOp::create(builder, loc, offset);
    return arith::AddIOp::create(builder, loc, base, amount);
  };
  Value zero = constant(0), one = constant(1);
  Value mBound = constant(m), nBound = constant(n), kBound = constant(k);

  // The panel of b that one pass over the rows reads, k × columns·lanes, stays in the first cache.
  auto panels = scf::ForOp::create(rewriter, loc, zero, nBound, constant(columns * lanes));
  rewriter.setInsertionPointToStart(panels.getBody());
  auto blocks = scf::ForOp::create(rewriter, loc, zero, mBound, constant(rows));
  rewriter.setInsertionPointToStart(blocks.getBody());
  Value j = panels.getInductionVar(), i = blocks.getInductionVar();

  SmallVector<Value> rowIndex, columnIndex;
  for (int64_t row = 0; row < rows; ++row)
    rowIndex.push_back(plus(rewriter, i, row));
  for (int64_t column = 0; column < columns; ++column)
    columnIndex.push_back(plus(rewriter, j, column * lanes));
  auto runs = scf::ForOp::create(rewriter, loc, zero, kBound, constant(run));
  rewriter.setInsertionPointToStart(runs.getBody());
  Value first = runs.getInductionVar(), last = plus(rewriter, first, run);
  Value nothing = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(vectorType));
  SmallVector<Value> accumulators(rows * columns, nothing);
  auto steps = scf::ForOp::create(
      rewriter, loc, first, last, one, accumulators,
      [&](OpBuilder &builder, Location, Value step, ValueRange carried) {
        SmallVector<Value> bRow, next;
        for (Value column : columnIndex)
          bRow.push_back(
              vector::LoadOp::create(builder, loc, vectorType, b, ValueRange{step, column}));
        for (auto [index, row] : llvm::enumerate(rowIndex)) {
          Value element = memref::LoadOp::create(builder, loc, a, ValueRange{row, step});
          Value splat = vector::BroadcastOp::create(builder, loc, vectorType, element);
          for (int64_t column = 0; column < columns; ++column)
            next.push_back(vector::FMAOp::create(builder, loc, splat, bRow[column],
                                                 carried[index * columns + column]));
        }
        scf::YieldOp::create(builder, loc, next);
      });
  for (auto [index, row] : llvm::enumerate(rowIndex))
    for (int64_t column = 0; column < columns; ++column) {
      SmallVector<Value, 2> at{row, columnIndex[column]};
      Value sum = vector::LoadOp::create(rewriter, loc, vectorType, c, at);
      sum = arith::AddFOp::create(rewriter, loc, sum, steps.getResult(index * columns + column));
      vector::StoreOp::create(rewriter, loc, sum, c, at);
    }
  rewriter.eraseOp(op);
  return success();
}

namespace {

struct HostVectorize : impl::HostVectorizeBase<HostVectorize> {
  using HostVectorizeBase::HostVectorizeBase;

  void runOnOperation() override {
    if (lanes < 1 || !llvm::isPowerOf2_64(lanes) || rows < 1 || columns < 1) {
      getOperation().emitError() << "host-vectorize: lanes = " << lanes << ", rows = " << rows
                                 << ", columns = " << columns
                                 << "; lanes must be a power of two, the others positive";
      return signalPassFailure();
    }
    VectorShape shape{lanes, rows, columns};
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      if (auto matmul = dyn_cast<linalg::MatmulOp>(op.getOperation());
          matmul && succeeded(vectorizeMatmul(rewriter, matmul, shape))) {
        ++numVector;
        continue;
      }
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::GenericOp> generic = dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!*generic)
        generic = linalg::generalizeNamedOp(rewriter, op);
      if (succeeded(generic) && succeeded(vectorizeGeneric(rewriter, *generic, shape))) {
        ++numVector;
        continue;
      }
      linalg::LinalgOp rest = succeeded(generic) ? cast<linalg::LinalgOp>(generic->getOperation()) : op;
      rewriter.setInsertionPoint(rest);
      if (failed(linalg::linalgOpToLoops(rewriter, rest))) {
        rest.emitError("has no form as loops on the host; tiles must have static shapes");
        return signalPassFailure();
      }
      rewriter.eraseOp(rest);
      ++numScalar;
    }
  }
};

} // namespace
} // namespace attnc
