// Verifiers of the ops of warp-specialised schedules that move data.
#include "attnc/Dialect/Tile/TileDialect.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult TmaLoadOp::verify() {
  TensorMapType map = getMap().getType();
  SharedType target = getTarget().getType();
  if (!target.getSwizzle() || target.getRank() != 2)
    return emitOpError("C1: the target is one swizzled stage, got ") << target;
  if (map.getBox().size() != 4 || map.getElementType() != target.getElementType() ||
      map.getBox()[2] != target.getShape()[0])
    return emitOpError("C1: a map for ")
           << target << " has four dimensions, its element type and boxes of "
           << target.getShape()[0] << " rows, got " << map;
  if (getIndices().size() != 3)
    return emitOpError("C1: batch, head and first row are three indices, got ")
           << getIndices().size();
  return success();
}
