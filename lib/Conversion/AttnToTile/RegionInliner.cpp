// Regions on tiles: see RegionInliner.h.
#include "RegionInliner.h"

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attnc;

SmallVector<int64_t, 2> RegionInliner::shapeOf(unsigned axes) const {
  SmallVector<int64_t, 2> shape;
  if (axes & kRows)
    shape.push_back(scope.rows);
  if (axes & kKeys)
    shape.push_back(scope.keys);
  return shape;
}

Value RegionInliner::toTile(const Varying &value, unsigned axes) {
  if (value.axes == axes)
    return value.value;
  TileBuilder &builder = builderFor(axes);
  if (value.axes == kUniform)
    return builder.splat(value.value, shapeOf(axes));
  if (value.axes == kRows)
    return builder.broadcast(value.value, /*dim=*/1, scope.keys);
  return builder.broadcast(value.value, /*dim=*/0, scope.rows);
}

Varying RegionInliner::lookup(Value value) const {
  auto it = values.find(value);
  return it != values.end() ? it->second : Varying{scope.captures.lookup(value)};
}

FailureOr<SmallVector<Varying>> RegionInliner::inlineRegion(Region &region,
                                                            ArrayRef<Varying> arguments) {
  Block &block = region.front();
  for (auto [parameter, argument] : llvm::zip_equal(block.getArguments(), arguments))
    values[parameter] = argument;
  for (Operation &op : block.without_terminator())
    if (failed(inlineOp(op)))
      return failure();
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return lookup(value); });
}

LogicalResult RegionInliner::inlineOp(Operation &op) {
  if (isa<attn::LookupOp>(op)) {
    values[op.getResult(0)] = inlineLookup(op);
    return success();
  }
  bool elementwise =
      op.hasTrait<OpTrait::ConstantLike>() || OpTrait::hasElementwiseMappableTraits(&op);
  if (!elementwise || op.getNumResults() != 1)
    return op.emitError() << "'" << op.getName()
                          << "' in a score, mask or bounds region cannot be written on tiles; "
                             "allowed are attn.lookup and the elementwise arith and math ops (use "
                             "arith.select instead of control flow)";
  Varying result;
  for (Value operand : op.getOperands()) {
    Varying value = lookup(operand);
    result.axes |= value.axes;
    result.positional |= value.positional;
  }
  TileBuilder &builder = builderFor(result.axes);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(toTile(lookup(operand), result.axes));
  Type type = op.getResult(0).getType();
  if (result.axes != kUniform)
    type = builder.tileType(shapeOf(result.axes), type);
  OperationState state(op.getLoc(), op.getName(), operands, type);
  state.propertiesAttr = op.getPropertiesAsAttribute();
  state.addAttributes(llvm::to_vector(op.getDiscardableAttrs()));
  result.value = builder.create(state)->getResult(0);
  values[op.getResult(0)] = result;
  return success();
}

Varying RegionInliner::inlineLookup(Operation &op) {
  auto lookupOp = cast<attn::LookupOp>(op);
  Value source = scope.captures.lookup(lookupOp.getTensor());
  Type element = lookupOp.getValue().getType();
  Varying result;
  for (Value index : lookupOp.getIndices()) {
    Varying value = lookup(index);
    result.axes |= value.axes;
    result.positional |= value.positional;
  }
  TileBuilder &builder = builderFor(result.axes);

  if (result.axes == kUniform) {
    auto load = [&](TileBuilder &at) {
      auto indices = llvm::map_to_vector(lookupOp.getIndices(),
                                         [&](Value index) { return lookup(index).value; });
      return at.loadScalar(source, indices);
    };
    if (!result.positional) {
      result.value = load(builder);
      return result;
    }
    auto guarded = scf::IfOp::create(builder, TypeRange(element), scope.hasKeys, /*withElse=*/true);
    TileBuilder thenBuilder(op.getLoc(), guarded.thenBlock(), guarded.thenBlock()->end());
    scf::YieldOp::create(thenBuilder, load(thenBuilder));
    TileBuilder elseBuilder(op.getLoc(), guarded.elseBlock(), guarded.elseBlock()->end());
    Value zero = arith::ConstantOp::create(elseBuilder, elseBuilder.getZeroAttr(element));
    scf::YieldOp::create(elseBuilder, zero);
    result.value = guarded.getResult(0);
    return result;
  }

  // Only pairs of an existing row and an existing key may be read.
  Value where;
  if (result.axes == kRows)
    where = builder.createOrFold<arith::AndIOp>(scope.rowExists,
                                                builder.splat(scope.hasKeys, shapeOf(kRows)));
  else if (result.axes == kKeys)
    where = scope.keyExists;
  else
    where = builder.createOrFold<arith::AndIOp>(toTile({scope.rowExists, kRows}, kBoth),
                                                toTile({scope.keyExists, kKeys}, kBoth));
  SmallVector<Value> indices;
  for (Value index : lookupOp.getIndices()) {
    Varying value = lookup(index);
    // A scalar index needs no tile.
    indices.push_back(value.axes == kUniform ? value.value : toTile(value, result.axes));
  }
  result.value = tile::GatherOp::create(builder, builder.tileType(shapeOf(result.axes), element),
                                        source, indices, where);
  return result;
}
