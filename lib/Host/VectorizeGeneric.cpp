// host-vectorize: elementwise ops, gathers and reductions as loops of vectors.
#include "Vectorize.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {
namespace {

/// How an operand moves along the innermost dimension.
enum class Access { Uniform, Contiguous, Strided };

/// Rewrites one generic op. Chunks of the innermost dimension are `width` elements: vectors for
/// width > 1, scalars for width 1. A value of the body is a vector only if it varies along that
/// dimension.
class GenericVectorizer {
public:
  GenericVectorizer(RewriterBase &rewriter, linalg::GenericOp op, int64_t lanes)
      : rewriter(rewriter), op(op), lanes(lanes), loc(op.getLoc()) {}

  LogicalResult run() {
    if (failed(match()))
      return failure();
    rewriter.setInsertionPoint(op);
    if (isTranspose()) {
      emitTranspose();
      rewriter.eraseOp(op);
      return success();
    }
    for (int64_t dim = 0; dim < inner; ++dim) {
      auto loop = scf::ForOp::create(rewriter, loc, constant(0), constant(extents[dim]), constant(1));
      positions.push_back(loop.getInductionVar());
      rewriter.setInsertionPointToStart(loop.getBody());
    }
    positions.push_back(Value());
    if (combiner)
      emitReduction();
    else
      emitParallel();
    rewriter.eraseOp(op);
    return success();
  }

private:
  //===--- matching ---===//

  LogicalResult match() {
    extents = op.getStaticLoopRanges();
    if (!op.hasPureBufferSemantics() || extents.empty() ||
        llvm::any_of(extents, ShapedType::isDynamic))
      return failure();
    inner = extents.size() - 1;
    for (OpOperand &operand : op->getOpOperands())
      if (failed(matchOperand(operand)))
        return failure();
    for (Operation &bodyOp : op.getBody()->without_terminator())
      if (!isVectorizable(bodyOp))
        return failure();
    if (op.getIteratorTypesArray()[inner] == utils::IteratorType::reduction)
      return matchReduction();
    return success();
  }

  LogicalResult matchOperand(OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type) {
      accesses.push_back(Access::Uniform);
      return success();
    }
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation())
      return failure();
    auto position = map.getResultPosition(getAffineDimExpr(inner, op.getContext()));
    if (!position)
      accesses.push_back(Access::Uniform);
    else if (*position + 1 == map.getNumResults() && type.isLastDimUnitStride())
      accesses.push_back(Access::Contiguous);
    else
      accesses.push_back(Access::Strided);
    return success();
  }

  static bool isVectorizable(Operation &bodyOp) {
    if (isa<linalg::IndexOp, arith::ConstantOp, memref::LoadOp>(bodyOp))
      return true;
    if (auto choice = dyn_cast<scf::IfOp>(bodyOp))
      return isGuardedLoad(choice);
    return bodyOp.getNumRegions() == 0 && bodyOp.getNumResults() == 1 &&
           OpTrait::hasElementwiseMappableTraits(&bodyOp);
  }

  /// `if c { load } else { constant }`, with elementwise ops before the load.
  static bool isGuardedLoad(scf::IfOp choice) {
    if (choice.getNumResults() != 1 || choice.getElseRegion().empty())
      return false;
    auto load = choice.thenYield().getOperand(0).getDefiningOp<memref::LoadOp>();
    if (!load || load->getBlock() != choice.thenBlock())
      return false;
    for (Operation &inside : choice.thenBlock()->without_terminator())
      if (&inside != load && !(OpTrait::hasElementwiseMappableTraits(&inside) ||
                               isa<arith::ConstantOp>(inside)))
        return false;
    return llvm::all_of(choice.elseBlock()->without_terminator(),
                        [](Operation &inside) { return isa<arith::ConstantOp>(inside); });
  }

  /// out = combine(x, out) along the innermost dimension.
  LogicalResult matchReduction() {
    if (op.getNumDpsInits() != 1)
      return failure();
    combiner = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    BlockArgument carried = op.getRegionOutputArgs()[0];
    if (!combiner || !carried.hasOneUse() || *carried.user_begin() != combiner ||
        !isa<arith::AddFOp, arith::MulFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp,
             arith::MinimumFOp>(combiner) ||
        accesses.back() != Access::Uniform)
      return failure();
    return success();
  }

  /// out[i, j] = f(in[j, i]) on whole blocks of lanes × lanes.
  bool isTranspose() {
    if (extents.size() != 2 || combiner || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
        lanes == 1 || extents[0] % lanes != 0 || extents[1] % lanes != 0 ||
        !op.getBody()->getArguments().back().use_empty())
      return false;
    auto type = dyn_cast<MemRefType>(op.getDpsInputs()[0].getType());
    auto swapped = AffineMap::getPermutationMap(ArrayRef<int64_t>{1, 0}, op.getContext());
    return type && type.isLastDimUnitStride() && op.getIndexingMapsArray()[0] == swapped &&
           op.getIndexingMapsArray()[1].isIdentity() && accesses[1] == Access::Contiguous &&
           llvm::all_of(op.getBody()->without_terminator(), [](Operation &bodyOp) {
             return !isa<linalg::IndexOp, memref::LoadOp, scf::IfOp>(bodyOp);
           });
  }

  //===--- emitting ---===//

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  Type typeAt(Type elementType, int64_t width) {
    return width == 1 ? elementType : VectorType::get(width, elementType);
  }

  static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

  Value widened(Value value, int64_t width) {
    if (width == 1 || isVector(value))
      return value;
    return vector::BroadcastOp::create(rewriter, loc, VectorType::get(width, value.getType()),
                                       value);
  }

  SmallVector<Value> indicesOf(OpOperand &operand) {
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      indices.push_back(positions[cast<AffineDimExpr>(expr).getPosition()]);
    return indices;
  }

  Value loadOperand(OpOperand &operand, int64_t width) {
    Value source = operand.get();
    auto type = dyn_cast<MemRefType>(source.getType());
    if (!type)
      return source;
    SmallVector<Value> indices = indicesOf(operand);
    Access access = accesses[operand.getOperandNumber()];
    if (width == 1 || access == Access::Uniform)
      return memref::LoadOp::create(rewriter, loc, source, indices);
    auto vectorType = VectorType::get(width, type.getElementType());
    if (access == Access::Contiguous)
      return vector::LoadOp::create(rewriter, loc, vectorType, source, indices);
    auto position = *op.getMatchingIndexingMap(&operand)
                         .getResultPosition(getAffineDimExpr(inner, op.getContext()));
    SmallVector<Value> elements;
    for (int64_t lane = 0; lane < width; ++lane) {
      SmallVector<Value> at(indices);
      at[position] = arith::AddIOp::create(rewriter, loc, indices[position], constant(lane));
      elements.push_back(memref::LoadOp::create(rewriter, loc, source, at));
    }
    return vector::FromElementsOp::create(rewriter, loc, vectorType, elements);
  }

  void storeResult(OpOperand &operand, Value value, int64_t width) {
    SmallVector<Value> indices = indicesOf(operand);
    if (width == 1) {
      memref::StoreOp::create(rewriter, loc, value, operand.get(), indices);
      return;
    }
    vector::StoreOp::create(rewriter, loc, widened(value, width), operand.get(), indices);
  }

  /// Runs the body on the chunk at positions[inner]; returns the mapping of the body's values.
  IRMapping emitBody(int64_t width, Operation *except = nullptr) {
    IRMapping map;
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (!argument.use_empty() && !(except && op.isDpsInit(&operand)))
        map.map(argument, loadOperand(operand, width));
    }
    for (Operation &bodyOp : op.getBody()->without_terminator())
      if (&bodyOp != except)
        emitOp(bodyOp, map, width);
    return map;
  }

  void emitOp(Operation &bodyOp, IRMapping &map, int64_t width) {
    if (auto index = dyn_cast<linalg::IndexOp>(bodyOp)) {
      map.map(index.getResult(), emitIndex(index.getDim(), width));
      return;
    }
    auto anyVector = [&](ValueRange values) {
      return llvm::any_of(values, [&](Value v) { return isVector(map.lookupOrDefault(v)); });
    };
    if (auto choice = dyn_cast<scf::IfOp>(bodyOp)) {
      emitGuardedLoad(choice, map, width);
    } else if (auto load = dyn_cast<memref::LoadOp>(bodyOp); load && anyVector(load.getIndices())) {
      emitGather(load, Value(), Value(), map, width);
    } else if (anyVector(bodyOp.getOperands())) {
      OperationState state(loc, bodyOp.getName());
      for (Value operand : bodyOp.getOperands())
        state.operands.push_back(widened(map.lookupOrDefault(operand), width));
      state.addTypes(VectorType::get(width, bodyOp.getResult(0).getType()));
      state.addAttributes(bodyOp.getAttrs());
      map.map(bodyOp.getResult(0), rewriter.create(state)->getResult(0));
    } else {
      rewriter.clone(bodyOp, map);
    }
  }

  Value emitIndex(int64_t dim, int64_t width) {
    if (dim != inner || width == 1)
      return positions[dim];
    auto type = VectorType::get(width, rewriter.getIndexType());
    Value steps = arith::ConstantOp::create(
        rewriter, loc,
        DenseIntElementsAttr::get(type, llvm::to_vector(llvm::seq<int64_t>(0, width))));
    return arith::AddIOp::create(rewriter, loc, widened(positions[inner], width), steps);
  }

  void emitGuardedLoad(scf::IfOp choice, IRMapping &map, int64_t width) {
    if (width == 1) {
      rewriter.clone(*choice, map);
      return;
    }
    auto load = choice.thenYield().getOperand(0).getDefiningOp<memref::LoadOp>();
    Value condition = map.lookupOrDefault(choice.getCondition());
    // What surrounds the load is free of effects, so that it may run whatever the predicate says.
    for (Block *block : {choice.thenBlock(), choice.elseBlock()})
      for (Operation &inside : block->without_terminator())
        if (&inside != load)
          emitOp(inside, map, width);
    Value otherwise = map.lookupOrDefault(choice.elseYield().getOperand(0));
    emitGather(load, widened(condition, width), widened(otherwise, width), map, width);
    map.map(choice.getResult(0), map.lookup(load.getResult()));
  }

  /// A load whose indices differ from lane to lane, where `mask` (null: everywhere) is true.
  void emitGather(memref::LoadOp load, Value mask, Value otherwise, IRMapping &map,
                  int64_t width) {
    auto type = cast<MemRefType>(load.getMemRef().getType());
    auto metadata =
        memref::ExtractStridedMetadataOp::create(rewriter, loc, load.getMemRef());
    Value uniform = constant(0), varying = widened(constant(0), width);
    for (auto [index, stride] : llvm::zip_equal(load.getIndices(), metadata.getStrides())) {
      Value position = map.lookupOrDefault(index);
      if (isVector(position)) {
        position = arith::MulIOp::create(rewriter, loc, position, widened(stride, width));
        varying = arith::AddIOp::create(rewriter, loc, varying, position);
      } else {
        position = arith::MulIOp::create(rewriter, loc, position, stride);
        uniform = arith::AddIOp::create(rewriter, loc, uniform, position);
      }
    }
    auto flatType = MemRefType::get(
        {ShapedType::kDynamic}, type.getElementType(),
        StridedLayoutAttr::get(op.getContext(), ShapedType::kDynamic, {1}), type.getMemorySpace());
    Value flat = memref::ReinterpretCastOp::create(
        rewriter, loc, flatType, metadata.getBaseBuffer(),
        OpFoldResult(metadata.getOffset()), OpFoldResult(rewriter.getIndexAttr(1)),
        OpFoldResult(rewriter.getIndexAttr(1)));
    auto maskType = VectorType::get(width, rewriter.getI1Type());
    auto resultType = VectorType::get(width, type.getElementType());
    if (!mask) {
      mask = arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(maskType, true));
      otherwise = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(resultType));
    }
    map.map(load.getResult(),
            vector::GatherOp::create(rewriter, loc, resultType, flat, ValueRange{uniform}, varying,
                                     mask, otherwise)
                .getResult());
  }

  /// Calls `emit(width)` for the chunks [from, extent): whole vectors in a loop, then the powers
  /// of two that are left.
  void forChunks(int64_t from, llvm::function_ref<void(int64_t)> emit) {
    int64_t extent = extents[inner], whole = extent / lanes * lanes;
    if (whole - from > lanes) {
      auto loop = scf::ForOp::create(rewriter, loc, constant(from), constant(whole), constant(lanes));
      positions[inner] = loop.getInductionVar();
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      emit(lanes);
    } else if (whole - from == lanes) {
      positions[inner] = constant(from);
      emit(lanes);
    }
    forTail(std::max(from, whole), emit);
  }

  void forTail(int64_t from, llvm::function_ref<void(int64_t)> emit) {
    while (from < extents[inner]) {
      int64_t width = llvm::bit_floor(uint64_t(extents[inner] - from));
      positions[inner] = constant(from);
      emit(width);
      from += width;
    }
  }

  /// A block is read by rows, transposed in registers and written by rows: 2·lanes memory accesses
  /// where element by element there are lanes².
  void emitTranspose() {
    SmallVector<Value> corner;
    for (int64_t extent : extents) {
      auto loop = scf::ForOp::create(rewriter, loc, constant(0), constant(extent), constant(lanes));
      corner.push_back(loop.getInductionVar());
      rewriter.setInsertionPointToStart(loop.getBody());
    }
    auto at = [&](Value base, int64_t offset) -> Value {
      return arith::AddIOp::create(rewriter, loc, base, constant(offset));
    };
    Value source = op.getDpsInputs()[0], target = op.getDpsInits()[0];
    auto sourceType =
        VectorType::get(lanes, cast<MemRefType>(source.getType()).getElementType());
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      IRMapping map;
      map.map(op.getRegionInputArgs()[0],
              vector::LoadOp::create(rewriter, loc, sourceType, source,
                                     ValueRange{at(corner[1], lane), corner[0]})
                  .getResult());
      for (Operation &bodyOp : op.getBody()->without_terminator())
        emitOp(bodyOp, map, lanes);
      rows.push_back(
          widened(map.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0)), lanes));
    }
    // Each step swaps the off-diagonal halves of all blocks of 2·distance × 2·distance.
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
      for (int64_t row = 0; row < lanes; ++row)
        if (!(row & distance)) {
          SmallVector<int64_t> low, high;
          for (int64_t lane = 0; lane < lanes; ++lane) {
            bool second = lane & distance;
            low.push_back(second ? lanes + lane - distance : lane);
            high.push_back(second ? lanes + lane : lane + distance);
          }
          Value a = rows[row], b = rows[row + distance];
          rows[row] = vector::ShuffleOp::create(rewriter, loc, a, b, low);
          rows[row + distance] = vector::ShuffleOp::create(rewriter, loc, a, b, high);
        }
    for (int64_t lane = 0; lane < lanes; ++lane)
      vector::StoreOp::create(rewriter, loc, rows[lane], target,
                              ValueRange{at(corner[0], lane), corner[1]});
  }

  void emitParallel() {
    forChunks(0, [&](int64_t width) {
      IRMapping map = emitBody(width);
      for (auto [index, value] : llvm::enumerate(op.getBody()->getTerminator()->getOperands()))
        storeResult(*op.getDpsInitOperand(index), map.lookupOrDefault(value), width);
    });
  }

  /// The combiner applied to a and b, scalars or vectors.
  Value combine(Value a, Value b) {
    OperationState state(loc, combiner->getName());
    state.addOperands({a, b});
    state.addTypes(a.getType());
    state.addAttributes(combiner->getAttrs());
    return rewriter.create(state)->getResult(0);
  }

  /// What the combiner takes besides the carried value, on one chunk.
  Value emitTerm(int64_t width) {
    IRMapping map = emitBody(width, combiner);
    BlockArgument carried = op.getRegionOutputArgs()[0];
    Value term = combiner->getOperand(combiner->getOperand(0) == carried ? 1 : 0);
    return widened(map.lookupOrDefault(term), width);
  }

  /// All lanes of a vector combined, as a tree: halves, quarters, …
  Value combineLanes(Value value) {
    while (auto type = dyn_cast<VectorType>(value.getType())) {
      int64_t half = type.getNumElements() / 2;
      if (half == 1) {
        Value low = vector::ExtractOp::create(rewriter, loc, value, 0);
        Value high = vector::ExtractOp::create(rewriter, loc, value, 1);
        return combine(low, high);
      }
      auto lanesFrom = [&](int64_t from) {
        auto which = llvm::to_vector(llvm::seq<int64_t>(from, from + half));
        return vector::ShuffleOp::create(rewriter, loc, value, value, which).getResult();
      };
      Value low = lanesFrom(0), high = lanesFrom(half);
      value = combine(low, high);
    }
    return value;
  }

  void emitReduction() {
    OpOperand &init = *op.getDpsInitOperand(0);
    Value result = memref::LoadOp::create(rewriter, loc, init.get(), indicesOf(init));
    int64_t whole = extents[inner] / lanes * lanes;
    if (whole > 0) {
      positions[inner] = constant(0);
      Value partial = emitTerm(lanes);
      if (whole > lanes) {
        auto loop = scf::ForOp::create(rewriter, loc, constant(lanes), constant(whole),
                                       constant(lanes), partial);
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(loop.getBody());
        positions[inner] = loop.getInductionVar();
        Value next = combine(loop.getRegionIterArg(0), emitTerm(lanes));
        scf::YieldOp::create(rewriter, loc, next);
        partial = loop.getResult(0);
      }
      result = combine(result, combineLanes(partial));
    }
    forTail(whole, [&](int64_t width) { result = combine(result, combineLanes(emitTerm(width))); });
    memref::StoreOp::create(rewriter, loc, result, init.get(), indicesOf(init));
  }

  RewriterBase &rewriter;
  linalg::GenericOp op;
  int64_t lanes;
  Location loc;
  SmallVector<int64_t> extents;
  int64_t inner = 0;
  SmallVector<Access> accesses;
  /// Of a reduction along the innermost dimension: the op that combines with the carried value.
  Operation *combiner = nullptr;
  SmallVector<Value> positions;
};

} // namespace

LogicalResult vectorizeGeneric(RewriterBase &rewriter, linalg::GenericOp op,
                               const VectorShape &shape) {
  return GenericVectorizer(rewriter, op, shape.lanes).run();
}

} // namespace attnc
