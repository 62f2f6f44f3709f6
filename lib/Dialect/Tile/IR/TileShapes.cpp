// Shared shape checks: see TileShapes.h.
#include "TileShapes.h"

using namespace mlir;
using namespace mlir::tile;

/// Prints [64, 128].
static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

/// Whether the last dimension is static and contiguous, so that a row is one run of memory.
static LogicalResult verifyInnerRow(Operation *op, MemRefType memref, ArrayRef<int64_t> block) {
  if (block.size() != 2)
    return op->emitOpError("C1: rows make a block of rank 2, got shape ") << shapeText(block);
  int64_t columns = memref.getShape().back();
  SmallVector<int64_t> strides;
  int64_t offset;
  bool strided = succeeded(memref.getStridesAndOffset(strides, offset));
  if (ShapedType::isDynamic(columns) || !strided || strides.back() != 1)
    return op->emitOpError("C1: rows need a static last dimension of stride 1, got ")
           << memref
           << "; address single elements instead (tile.gather with one index a dimension)";
  if (block[1] < columns)
    return op->emitOpError("C1: the block has ")
           << block[1] << " columns and the memory " << columns << "; it must hold a whole row";
  return success();
}

static LogicalResult verifyElement(Operation *op, MemRefType memref, Type element) {
  if (memref.getElementType() != element)
    return op->emitOpError("C1: the memory holds ")
           << memref.getElementType() << " and the tile " << element
           << "; convert the tile with arith.extf or arith.truncf";
  return success();
}

LogicalResult tile::verifyRowBlock(Operation *op, MemRefType memref, size_t numIndices,
                                   ArrayRef<int64_t> block, Type element) {
  if (numIndices + 1 != static_cast<size_t>(memref.getRank()))
    return op->emitOpError("C1: the memory has ")
           << memref.getRank() << " dimensions and there are " << numIndices
           << " indices; rows take one index fewer than dimensions, the last being the first row";
  if (failed(verifyElement(op, memref, element)))
    return failure();
  return verifyInnerRow(op, memref, block);
}

LogicalResult tile::verifyIndexed(Operation *op, MemRefType memref, ValueRange indices, Value where,
                                  ArrayRef<int64_t> block, Type element, bool rowsOnly) {
  size_t rank = memref.getRank();
  bool rows = indices.size() + 1 == rank;
  if (!rows && (rowsOnly || indices.size() != rank))
    return op->emitOpError("C1: the memory has ")
           << rank << " dimensions and there are " << indices.size() << " indices; give "
           << (rowsOnly ? "one fewer, for rows"
                        : "one a dimension, for elements, or one fewer, for rows");
  if (failed(verifyElement(op, memref, element)))
    return failure();
  if (rows && failed(verifyInnerRow(op, memref, block)))
    return failure();
  ArrayRef<int64_t> expected = rows ? block.take_front() : block;
  auto check = [&](Value value, StringRef what) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getShape() != expected)
      return op->emitOpError("C2: ")
             << what << " has shape " << shapeText(type.getShape()) << "; "
             << (rows ? "rows" : "elements") << " need " << shapeText(expected);
    return success();
  };
  for (Value index : indices)
    if (failed(check(index, "an index")))
      return failure();
  return where ? check(where, "the predicate") : success();
}

/// Shape and element type of a tile or one stage of a shared buffer.
static std::pair<ArrayRef<int64_t>, Type> shapeOf(Type type) {
  if (auto shared = dyn_cast<SharedType>(type))
    return {shared.getShape(), shared.getElementType()};
  auto tensor = cast<RankedTensorType>(type);
  return {tensor.getShape(), tensor.getElementType()};
}

LogicalResult tile::verifyProduct(Operation *op, Type a, Type b, RankedTensorType acc,
                                  bool transposeB) {
  auto [aShape, aElement] = shapeOf(a);
  auto [bShape, bElement] = shapeOf(b);
  ArrayRef<int64_t> accShape = acc.getShape();
  if (aShape.size() != 2 || bShape.size() != 2 || accShape.size() != 2)
    return op->emitOpError("C1: a product has operands of rank 2, got ")
           << shapeText(aShape) << ", " << shapeText(bShape) << " and " << shapeText(accShape)
           << "; take a stage of a staged buffer with tile.stage";
  int64_t bK = bShape[transposeB ? 1 : 0], bN = bShape[transposeB ? 0 : 1];
  if (aShape[0] != accShape[0] || aShape[1] != bK || bN != accShape[1])
    return op->emitOpError("C1: a is ")
           << shapeText(aShape) << ", b " << shapeText(bShape) << (transposeB ? " transposed" : "")
           << " and acc " << shapeText(accShape) << "; they must be [M, K], "
           << (transposeB ? "[N, K]" : "[K, N]") << " and [M, N]";
  if (aElement != bElement)
    return op->emitOpError("C1: a holds ")
           << aElement << " and b " << bElement << "; both must hold one type";
  if (!acc.getElementType().isF32())
    return op->emitOpError("C1: products accumulate in f32, got ") << acc.getElementType();
  return success();
}
