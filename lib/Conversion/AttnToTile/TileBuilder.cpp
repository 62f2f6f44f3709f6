// Scalar and tile construction: see TileBuilder.h.
#include "TileBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace attnc;

Value TileBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}

Value TileBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value TileBuilder::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value TileBuilder::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value TileBuilder::mul(Value a, Value b) { return createOrFold<arith::MulIOp>(a, b); }
Value TileBuilder::div(Value a, Value b) { return createOrFold<arith::DivUIOp>(a, b); }
Value TileBuilder::rem(Value a, Value b) { return createOrFold<arith::RemUIOp>(a, b); }
Value TileBuilder::min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
Value TileBuilder::max(Value a, Value b) { return createOrFold<arith::MaxSIOp>(a, b); }

Value TileBuilder::ceilDiv(Value a, int64_t b) {
  return b == 1 ? a : div(add(a, i32(b - 1)), i32(b));
}

Value TileBuilder::roundDown(Value a, int64_t b) {
  return b == 1 ? a : mul(div(a, i32(b)), i32(b));
}

Value TileBuilder::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

RankedTensorType TileBuilder::tileType(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}

Value TileBuilder::dense(double value, ArrayRef<int64_t> shape) {
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(tileType(shape, getF32Type()), getF32FloatAttr(value)));
}

Value TileBuilder::splat(Value scalar, ArrayRef<int64_t> shape) {
  RankedTensorType type = tileType(shape, scalar.getType());
  TypedAttr constant;
  if (matchPattern(scalar, m_Constant(&constant)))
    return arith::ConstantOp::create(*this, DenseElementsAttr::get(type, Attribute(constant)));
  return tile::SplatOp::create(*this, type, scalar);
}

Value TileBuilder::broadcast(Value tile, int64_t dim, int64_t extent) {
  auto source = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t, 2> shape(2, extent);
  shape[1 - dim] = source.getDimSize(0);
  return tile::BroadcastOp::create(*this, tileType(shape, source.getElementType()), tile, dim);
}

Value TileBuilder::range(Value start, int64_t size) {
  Value iota = tile::IotaOp::create(*this, tileType(size, getI32Type()));
  return createOrFold<arith::AddIOp>(iota, splat(start, size));
}

Value TileBuilder::loadScalar(Value memref, ArrayRef<Value> indices) {
  SmallVector<Value> converted;
  for (Value index : indices)
    converted.push_back(createOrFold<arith::IndexCastOp>(getIndexType(), index));
  return memref::LoadOp::create(*this, memref, converted);
}

void attnc::eraseDeadOps(Region &region) {
  // Users come after definitions, so one walk from the end suffices.
  for (Block &block : llvm::reverse(region.getBlocks()))
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &nested : op.getRegions())
        eraseDeadOps(nested);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
}
