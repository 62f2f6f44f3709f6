// tile-persist: CTAs loop over the tiles of the grid.
#include "attnc/Dialect/Tile/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPERSIST
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// The value of a grid expression over the kernel's scalar arguments.
static FailureOr<Value> emitExpression(ImplicitLocOpBuilder &b, KernelOp kernel, Attribute expr) {
  if (auto integer = dyn_cast<IntegerAttr>(expr))
    return Value(arith::ConstantOp::create(b, b.getI32IntegerAttr(integer.getInt())));
  if (auto symbol = dyn_cast<StringAttr>(expr)) {
    for (BlockArgument argument : kernel.getArguments())
      if (kernel.getArgName(argument.getArgNumber()) == symbol.getValue())
        return Value(argument);
    return kernel.emitError("the grid's symbol '")
           << symbol.getValue() << "' is not an argument of the kernel; a persistent kernel must "
           << "compute its grid's size";
  }
  auto array = cast<ArrayAttr>(expr);
  FailureOr<Value> x = emitExpression(b, kernel, array[1]);
  FailureOr<Value> y = emitExpression(b, kernel, array[2]);
  if (failed(x) || failed(y))
    return failure();
  StringRef op = cast<StringAttr>(array[0]).getValue();
  if (op == "add")
    return Value(arith::AddIOp::create(b, *x, *y));
  if (op == "sub")
    return Value(arith::SubIOp::create(b, *x, *y));
  if (op == "mul")
    return Value(arith::MulIOp::create(b, *x, *y));
  if (op == "min")
    return Value(arith::MinSIOp::create(b, *x, *y));
  if (op == "max")
    return Value(arith::MaxSIOp::create(b, *x, *y));
  // ceildiv of sizes: neither is negative.
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value rounded = arith::SubIOp::create(b, arith::AddIOp::create(b, *x, *y), one);
  return Value(arith::DivUIOp::create(b, rounded, *y));
}

static LogicalResult persist(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *terminator = body.getTerminator();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  ImplicitLocOpBuilder b(kernel.getLoc(), &body, body.begin());
  FailureOr<Value> size = emitExpression(b, kernel, kernel.getGrid());
  if (failed(size))
    return failure();
  Value first = ProgramIdOp::create(b, b.getI32Type());
  Value step = NumProgramsOp::create(b, b.getI32Type());
  b.setInsertionPoint(terminator);
  auto loop = scf::ForOp::create(b, first, *size, step);
  Operation *yield = loop.getBody()->getTerminator();
  for (Operation *op : ops) {
    if (auto id = dyn_cast<ProgramIdOp>(op)) {
      id.replaceAllUsesWith(loop.getInductionVar());
      id.erase();
      continue;
    }
    // Constants serve every tile from outside.
    if (!op->hasTrait<OpTrait::ConstantLike>())
      op->moveBefore(yield);
  }
  kernel.setGridAttr(b.getArrayAttr(
      {b.getStringAttr("min"), kernel.getGrid(), b.getStringAttr("multiprocessors")}));
  return success();
}

namespace {
struct PersistTiles : tile::impl::TilePersistBase<PersistTiles> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = kernel->getAttrOfType<DictionaryAttr>(kScheduleAttrName);
    if (!schedule || !schedule.contains("persistent"))
      return markAllAnalysesPreserved();
    if (failed(persist(kernel)))
      signalPassFailure();
  }
};
} // namespace
