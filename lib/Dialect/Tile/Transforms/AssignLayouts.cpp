// tile-assign-layouts: says which thread holds which element of every tile.
//
// Products anchor: their accumulators and register operands have the fragments of mma.m16n8k16.
// Layouts spread from there through elementwise ops, reductions and loop-carried values. What can be
// computed anywhere (constants, iotas, splats, broadcasts, gathers, and arithmetic on only those) has
// no layout of its own: it is made in each layout that a user asks for. Two passes over the kernel:
// a fixpoint that finds the layout of every other value, then the rewriting.
#include "attnc/Dialect/Tile/Passes.h"
#include "attnc/Dialect/Tile/TileLayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "attnc/Dialect/Tile/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static RankedTensorType tileType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

static RankedTensorType withLayout(RankedTensorType type, LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

/// Ops whose result can be made in any layout.
static bool isMovable(Operation *op) {
  return isa_and_nonnull<IotaOp, SplatOp, BroadcastOp, LoadOp, GatherOp>(op) ||
         (op && op->hasTrait<OpTrait::ConstantLike>());
}

namespace {
class LayoutAssigner {
public:
  explicit LayoutAssigner(KernelOp kernel)
      : kernel(kernel), context(kernel.getContext()), warps(kernel.getWarps()) {
    // Tiles live in the role that computes: the last, by construction of warp specialisation.
    kernel.walk([&](WarpRolesOp roles) { warps = roles.getWarps().back(); });
  }

  LogicalResult run() {
    // Loops need their carried values' layouts before their bodies tell them: iterate.
    do {
      changed = false;
      kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { analyse(op); });
    } while (changed);
    defaultCarried();
    do {
      changed = false;
      kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { analyse(op); });
    } while (changed);
    SmallVector<Operation *> ops;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(rewriteOperands(op)))
        return failure();
    for (auto &[value, layout] : layouts)
      value.setType(withLayout(tileType(value), layout));
    eraseUnplaced(ops);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Finding layouts
  //===--------------------------------------------------------------------===//

  LayoutAttr known(Value value) const { return layouts.lookup(value); }

  void set(Value value, LayoutAttr layout) {
    if (!layout || !tileType(value) || !layouts.insert({value, layout}).second)
      return;
    changed = true;
  }

  LayoutAttr attr(const Layout &layout) const {
    return layout.normalized().toAttr(context);
  }
  LayoutAttr mma(RankedTensorType type) const {
    return attr(mmaLayout(type.getDimSize(0), type.getDimSize(1), warps));
  }
  LayoutAttr slice(LayoutAttr layout, int64_t dim) const {
    return attr(Layout::get(layout).slice(dim));
  }
  /// For tiles that no product reaches: rank 1 over the lanes, rank 2 as an accumulator would be.
  LayoutAttr defaultLayout(RankedTensorType type) const {
    return type.getRank() == 1 ? attr(vectorLayout(type.getDimSize(0), warps)) : mma(type);
  }

  void analyse(Operation *op) {
    if (isa<MmaOp, MmaAsyncOp>(op))
      return set(op->getResult(0), mma(tileType(op->getResult(0))));
    if (auto wait = dyn_cast<MmaWaitOp>(op)) {
      for (auto [operand, result] : llvm::zip(wait.getInflight(), wait.getResults()))
        set(result, known(operand));
      return;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (LayoutAttr source = known(reduce.getSource()))
        set(reduce.getResult(), slice(source, reduce.getDim()));
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      auto yielded = loop.getBody()->getTerminator()->getOperands();
      for (auto [init, carried, yield, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), yielded, loop.getResults())) {
        LayoutAttr layout = known(carried);
        for (Value source : {Value(yield), Value(init), Value(result)})
          if (!layout)
            layout = known(source);
        set(carried, layout);
        set(result, layout);
      }
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (auto [index, result] : llvm::enumerate(branch.getResults()))
        for (Region *region : branch.getRegions())
          if (!region->empty())
            set(result, known(region->front().getTerminator()->getOperand(index)));
      return;
    }
    if (isMovable(op) || op->getNumRegions() != 0)
      return;
    // Elementwise: any operand with a layout decides.
    for (Value result : op->getResults())
      if (RankedTensorType type = tileType(result))
        for (Value operand : op->getOperands())
          if (tileType(operand) && tileType(operand).getShape() == type.getShape())
            set(result, known(operand));
  }

  /// Values that loops and branches carry, and sources of reductions, that nothing decided.
  void defaultCarried() {
    kernel.walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        for (BlockArgument carried : loop.getRegionIterArgs())
          if (tileType(carried) && !known(carried))
            set(carried, defaultLayout(tileType(carried)));
      if (auto branch = dyn_cast<scf::IfOp>(op))
        for (Value result : branch.getResults())
          if (tileType(result) && !known(result))
            set(result, defaultLayout(tileType(result)));
    });
  }

  //===--------------------------------------------------------------------===//
  // Rewriting
  //===--------------------------------------------------------------------===//

  /// `value` in `layout`: itself, a copy of what makes it, or a conversion.
  Value get(Value value, LayoutAttr layout) {
    RankedTensorType type = tileType(value);
    if (!type)
      return value;
    LayoutAttr own = known(value);
    if (own == layout)
      return value;
    Value &made = copies[{value, layout}];
    if (made)
      return made;
    OpBuilder builder(kernel.getContext());
    builder.setInsertionPointAfterValue(value);
    if (own) {
      made = ConvertLayoutOp::create(builder, value.getLoc(), withLayout(type, layout), value);
      return made;
    }
    Operation *producer = value.getDefiningOp();
    Value result = makeIn(builder, producer, cast<OpResult>(value), layout);
    return copies[{value, layout}] = result;
  }

  /// A copy of a layout-free op whose result is in `layout`.
  Value makeIn(OpBuilder &builder, Operation *producer, OpResult value, LayoutAttr layout) {
    if (auto constant = dyn_cast<arith::ConstantOp>(producer)) {
      auto elements = cast<DenseElementsAttr>(constant.getValue());
      auto typed = elements.resizeSplat(withLayout(tileType(value), layout));
      return arith::ConstantOp::create(builder, value.getLoc(), cast<TypedAttr>(typed));
    }
    SmallVector<Value> operands;
    for (Value operand : producer->getOperands())
      operands.push_back(tileType(operand) ? get(operand, operandLayout(producer, operand, layout))
                                           : operand);
    Operation *copy = producer->clone();
    copy->setOperands(operands);
    copy->getResult(value.getResultNumber()).setType(withLayout(tileType(value), layout));
    builder.insert(copy);
    return copy->getResult(value.getResultNumber());
  }

  /// The layout in which `op` needs an operand when its result (or stored value) is in `layout`.
  LayoutAttr operandLayout(Operation *op, Value operand, LayoutAttr layout) const {
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return slice(layout, broadcast.getDim());
    // Row gathers and scatters: their indices and predicate belong to the rows.
    if (tileType(operand).getRank() == 1 && layout.getRank() == 2)
      return slice(layout, 1);
    return layout;
  }

  /// Puts every tile operand of an op that stays in the layout the op needs.
  LogicalResult rewriteOperands(Operation *op) {
    auto require = [&](OpOperand &operand, LayoutAttr layout) {
      if (tileType(operand.get()))
        operand.set(get(operand.get(), layout));
    };
    if (isMovable(op) && !llvm::any_of(op->getResults(), [&](Value v) { return known(v); }))
      return success();
    if (isa<MmaOp, MmaAsyncOp>(op)) {
      OpOperand &a = op->getOpOperand(0), &b = op->getOpOperand(1), &acc = op->getOpOperand(2);
      require(acc, mma(tileType(op->getResult(0))));
      if (auto type = tileType(a.get()))
        require(a, mma(type));
      if (tileType(b.get()))
        return op->emitError("the second operand of a product must be in shared memory on a GPU; "
                             "run tile-pipeline-loads first");
      return success();
    }
    if (auto wait = dyn_cast<MmaWaitOp>(op)) {
      for (auto [operand, result] : llvm::zip(wait.getInflightMutable(), wait.getResults()))
        require(operand, known(result));
      return success();
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      LayoutAttr layout = known(reduce.getSource());
      if (!layout)
        layout = defaultLayout(reduce.getSource().getType());
      require(reduce.getSourceMutable(), layout);
      set(reduce.getResult(), slice(layout, reduce.getDim()));
      return success();
    }
    if (isa<StoreOp, ScatterOp, SharedWriteOp>(op)) {
      Value value = op->getOperand(0);
      LayoutAttr layout = known(value);
      if (!layout)
        layout = defaultLayout(tileType(value));
      for (OpOperand &operand : op->getOpOperands())
        if (tileType(operand.get()))
          require(operand, operandLayout(op, operand.get(), layout));
      return success();
    }
    if (auto gather = dyn_cast<GatherAsyncOp>(op)) {
      SharedType target = gather.getTarget().getType();
      int64_t chunk = 128 / target.getElementType().getIntOrFloatBitWidth();
      LayoutAttr rows = attr(copyRowLayout(target.getShape()[0], target.getShape()[1] / chunk, warps));
      for (OpOperand &operand : op->getOpOperands())
        require(operand, rows);
      return success();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [operand, carried] : llvm::zip(loop.getInitsMutable(), loop.getRegionIterArgs()))
        require(operand, known(carried));
      return success();
    }
    if (isa<scf::YieldOp>(op)) {
      for (auto [operand, result] : llvm::zip(op->getOpOperands(), op->getParentOp()->getResults()))
        require(operand, known(result));
      return success();
    }
    // Elementwise: operands follow the result. Without a layout it is made where it is asked for.
    for (Value result : op->getResults())
      if (LayoutAttr layout = known(result))
        for (OpOperand &operand : op->getOpOperands())
          require(operand, layout);
    return success();
  }

  /// Erases the originals of ops that were made elsewhere, users first.
  void eraseUnplaced(ArrayRef<Operation *> ops) {
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty() && op->getNumResults() == 1 && op->getNumRegions() == 0)
        if (auto type = tileType(op->getResult(0)); type && !type.getEncoding())
          op->erase();
  }

  KernelOp kernel;
  MLIRContext *context;
  int64_t warps;
  bool changed = false;
  llvm::MapVector<Value, LayoutAttr> layouts;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> copies;
};

struct AssignLayouts : tile::impl::TileAssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(LayoutAssigner(kernel).run()))
      return signalPassFailure();
    // Whatever still lacks a layout was dead or is a form this pass does not know.
    WalkResult result = kernel.walk([&](Operation *op) {
      for (Value value : op->getResults())
        if (RankedTensorType type = tileType(value); type && !type.getEncoding()) {
          op->emitError("no layout found for this tile");
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
