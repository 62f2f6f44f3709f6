// host-plan-buffers: all tile buffers of a function in one allocation, shared by lifetime.
//
// Example: buffers a (4 KiB, ops 1–9), b (2 KiB, ops 3–5), c (2 KiB, ops 6–8). Placed by size: a at
// 0, b at 4096, c at 4096 as well, since b is dead before c is born. The arena has 6 KiB.
#include "attnc/Host/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {
#define GEN_PASS_DEF_HOSTPLANBUFFERS
#include "attnc/Host/Passes.h.inc"

namespace {

constexpr int64_t kAlignment = 64;

struct Buffer {
  memref::AllocOp alloc;
  int64_t bytes = 0;
  /// Life, in the numbering of the function's ops.
  int64_t first = 0, last = 0;
  int64_t offset = 0;
};

/// Numbers every op in program order; an op with regions ends after its last nested op.
class ProgramOrder {
public:
  explicit ProgramOrder(Operation *root) { number(root); }
  int64_t begin(Operation *op) const { return spans.lookup(op).first; }
  int64_t end(Operation *op) const { return spans.lookup(op).second; }

private:
  void number(Operation *op) {
    int64_t first = next++;
    for (Region &region : op->getRegions())
      for (Operation &nested : region.getOps())
        number(&nested);
    spans[op] = {first, next++};
  }

  int64_t next = 0;
  DenseMap<Operation *, std::pair<int64_t, int64_t>> spans;
};

/// Where the last use of `alloc`, or of anything that may be a view of it, ends.
/// Fails with a diagnostic if the buffer leaves its iteration.
FailureOr<int64_t> lastUse(memref::AllocOp alloc, const ProgramOrder &order) {
  int64_t last = order.end(alloc);
  SmallVector<Value> worklist{alloc.getResult()};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      // A use in a loop after the value's definition is one until the loop ends.
      Operation *ancestor = value.getParentBlock()->findAncestorOpInBlock(*user);
      last = std::max(last, order.end(ancestor));
      if (auto yield = dyn_cast<scf::YieldOp>(user)) {
        auto choice = dyn_cast<scf::IfOp>(yield->getParentOp());
        if (!choice)
          return alloc.emitError("host-plan-buffers: the buffer is carried from one iteration of a "
                                 "loop to the next; run host-reuse-tiles before bufferisation");
        for (auto [operand, result] : llvm::zip_equal(yield.getOperands(), choice.getResults()))
          if (operand == value)
            worklist.push_back(result);
      } else if (auto loop = dyn_cast<LoopLikeOpInterface>(user)) {
        return loop.emitError("host-plan-buffers: a loop carries a buffer; run canonicalize after "
                              "bufferisation");
      } else {
        // Views, casts, selects: whatever returns a memref may alias its operands.
        for (Value result : user->getResults())
          if (isa<BaseMemRefType>(result.getType()))
            worklist.push_back(result);
      }
    }
  }
  return last;
}

/// Offsets by first fit, largest first; returns the arena's size.
int64_t place(MutableArrayRef<Buffer> buffers) {
  SmallVector<Buffer *> bySize;
  for (Buffer &buffer : buffers)
    bySize.push_back(&buffer);
  llvm::stable_sort(bySize, [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
  int64_t arena = 0;
  SmallVector<Buffer *> placed;
  for (Buffer *buffer : bySize) {
    SmallVector<Buffer *> neighbours;
    for (Buffer *other : placed)
      if (other->first <= buffer->last && buffer->first <= other->last)
        neighbours.push_back(other);
    llvm::stable_sort(neighbours, [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
    buffer->offset = 0;
    for (Buffer *other : neighbours) {
      if (buffer->offset + buffer->bytes <= other->offset)
        break;
      buffer->offset = std::max(buffer->offset, other->offset + other->bytes);
    }
    placed.push_back(buffer);
    arena = std::max(arena, buffer->offset + buffer->bytes);
  }
  return arena;
}

struct HostPlanBuffers : impl::HostPlanBuffersBase<HostPlanBuffers> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    ProgramOrder order(function);
    SmallVector<Buffer> buffers;
    WalkResult walked = function.walk([&](memref::AllocOp alloc) {
      MemRefType type = alloc.getType();
      if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
          !type.getElementType().isIntOrFloat()) {
        alloc.emitError("host-plan-buffers: a tile buffer has a static shape, got ") << type;
        return WalkResult::interrupt();
      }
      FailureOr<int64_t> last = lastUse(alloc, order);
      if (failed(last))
        return WalkResult::interrupt();
      int64_t bytes =
          type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      buffers.push_back({alloc, int64_t(llvm::alignTo(bytes, kAlignment)), order.begin(alloc),
                         *last});
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    if (buffers.empty())
      return;

    int64_t arenaSize = place(buffers);
    arenaBytes += arenaSize;
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    Location loc = function.getLoc();
    auto arenaType = MemRefType::get({arenaSize}, builder.getI8Type());
    Value arena = memref::AllocOp::create(builder, loc, arenaType,
                                          builder.getI64IntegerAttr(kAlignment));
    for (Buffer &buffer : buffers) {
      bufferBytes += buffer.bytes;
      Value offset = arith::ConstantIndexOp::create(builder, loc, buffer.offset);
      Value view = memref::ViewOp::create(builder, buffer.alloc.getLoc(), buffer.alloc.getType(),
                                          arena, offset, ValueRange());
      buffer.alloc.getResult().replaceAllUsesWith(view);
    }
    // Only now: the builder inserts before the block's first op, which may be one of them.
    for (Buffer &buffer : buffers)
      buffer.alloc.erase();
    function.walk([&](func::ReturnOp ret) {
      OpBuilder atReturn(ret);
      memref::DeallocOp::create(atReturn, ret.getLoc(), arena);
    });
  }
};

} // namespace
} // namespace attnc
