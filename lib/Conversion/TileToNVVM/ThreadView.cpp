// The vocabulary of convert-tile-to-nvvm: see ThreadView.h.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

bool attnc::isPlacedTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
}

Layout attnc::layoutOf(RankedTensorType type) {
  return Layout::get(cast<LayoutAttr>(type.getEncoding()));
}

ThreadTypeConverter::ThreadTypeConverter(MLIRContext *context) {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type,
                   SmallVectorImpl<Type> &results) -> std::optional<LogicalResult> {
    if (!isPlacedTile(type))
      return failure();
    results.append(layoutOf(type).numRegs(), type.getElementType());
    return success();
  });
  addConversion([context](MemRefType type,
                          SmallVectorImpl<Type> &results) -> std::optional<LogicalResult> {
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
      return failure();
    results.push_back(LLVM::LLVMPointerType::get(context, kGlobalSpace));
    for (int64_t stride : strides)
      if (ShapedType::isDynamic(stride))
        results.push_back(IntegerType::get(context, 64));
    return success();
  });
  addConversion([context](SharedType) -> Type {
    return LLVM::LLVMPointerType::get(context, kSharedSpace);
  });
  addConversion([context](BarriersType) -> Type {
    return LLVM::LLVMPointerType::get(context, kSharedSpace);
  });
  addConversion([context](TensorMapType) -> Type { return LLVM::LLVMPointerType::get(context); });
}

//===----------------------------------------------------------------------===//
// ThreadBuilder
//===----------------------------------------------------------------------===//

Value ThreadBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), value);
}
Value ThreadBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), value);
}
Value ThreadBuilder::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value ThreadBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, loc, a, i32(b)).getResult();
}
Value ThreadBuilder::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value ThreadBuilder::thread() {
  return NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
}
Value ThreadBuilder::lane() {
  return arith::AndIOp::create(builder, loc, thread(), i32(31));
}
Value ThreadBuilder::warp() {
  Value warp = arith::ShRUIOp::create(builder, loc, thread(), i32(5));
  return add(warp, -enclosingRole(builder.getInsertionBlock()).firstWarp);
}

Value ThreadBuilder::digits(ArrayRef<Mode> modes, int64_t dim, Value counter) {
  Value sum;
  int64_t weight = 1;
  for (auto [index, mode] : llvm::enumerate(modes)) {
    int64_t step = mode.step[dim];
    if (step != 0 && mode.extent > 1) {
      Value digit = counter;
      if (weight != 1)
        digit = arith::DivUIOp::create(builder, loc, digit, i32(weight));
      if (index + 1 != modes.size())
        digit = arith::RemUIOp::create(builder, loc, digit, i32(mode.extent));
      Value moved = mul(digit, step);
      sum = sum ? add(sum, moved) : moved;
    }
    weight *= mode.extent;
  }
  return sum;
}

Value ThreadBuilder::base(const Layout &layout, int64_t dim) {
  Value fromLane = digits(layout.lane, dim, lane());
  Value fromWarp = digits(layout.warp, dim, warp());
  if (fromLane && fromWarp)
    return add(fromLane, fromWarp);
  if (fromLane)
    return fromLane;
  return fromWarp ? fromWarp : i32(0);
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

GlobalView::GlobalView(ThreadBuilder &tb, MemRefType type, ValueRange converted)
    : type(type), base(converted.front()) {
  SmallVector<int64_t> staticStrides;
  int64_t offset = 0;
  LogicalResult strided = type.getStridesAndOffset(staticStrides, offset);
  assert(succeeded(strided) && offset == 0 && "the type converter accepted this type");
  (void)strided;
  size_t next = 1;
  for (int64_t stride : staticStrides)
    strides.push_back(ShapedType::isDynamic(stride) ? converted[next++] : tb.i64(stride));
}

Value GlobalView::move(ThreadBuilder &tb, Value pointer, Value index, int64_t dim) const {
  Value wide = arith::ExtSIOp::create(tb.builder, tb.loc, tb.builder.getI64Type(), index);
  Value elements = arith::MulIOp::create(tb.builder, tb.loc, wide, strides[dim]);
  return movePointer(tb, pointer, type.getElementType(), elements);
}

Value GlobalView::address(ThreadBuilder &tb, ArrayRef<Value> indices) const {
  Value pointer = base;
  for (auto [dim, index] : llvm::enumerate(indices))
    pointer = move(tb, pointer, index, dim);
  return pointer;
}

Value attnc::movePointer(ThreadBuilder &tb, Value pointer, Type elementType, int64_t elements) {
  if (elements == 0)
    return pointer;
  return LLVM::GEPOp::create(tb.builder, tb.loc, pointer.getType(), elementType, pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(elements)});
}

Value attnc::movePointer(ThreadBuilder &tb, Value pointer, Type elementType, Value elements) {
  return LLVM::GEPOp::create(tb.builder, tb.loc, pointer.getType(), elementType, pointer,
                             ArrayRef<LLVM::GEPArg>{elements});
}

Value attnc::packPair(ThreadBuilder &tb, Value low, Value high) {
  OpBuilder &b = tb.builder;
  Type pair = VectorType::get({2}, low.getType());
  Value packed = LLVM::PoisonOp::create(b, tb.loc, pair);
  packed = LLVM::InsertElementOp::create(b, tb.loc, packed, low, tb.i32(0));
  packed = LLVM::InsertElementOp::create(b, tb.loc, packed, high, tb.i32(1));
  return LLVM::BitcastOp::create(b, tb.loc, b.getI32Type(), packed);
}
