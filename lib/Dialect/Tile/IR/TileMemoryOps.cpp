// Verifiers and folders of the ops of TileMemoryOps.td: layouts, shared memory, asynchrony, roles.
#include "TileShapes.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  if (source.getShape() != result.getShape() || source.getElementType() != result.getElementType())
    return emitOpError("C1: ") << source << " becomes " << result << "; only the layout may change";
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() ? getSource() : Value();
}

LogicalResult StageOp::verify() {
  SharedType buffer = getBuffer().getType(), stage = getType();
  if (buffer.getRank() != 3)
    return emitOpError("C1: the buffer has ")
           << buffer.getRank() << " dimensions; stages need 3, the first counting them";
  if (buffer.getShape().drop_front() != stage.getShape() ||
      buffer.getElementType() != stage.getElementType() || buffer.getPitch() != stage.getPitch())
    return emitOpError("C1: a stage of ")
           << buffer << " is that type without its first extent, got " << stage;
  return success();
}

/// Rank-2 check of a buffer that copies go to.
static LogicalResult verifyTarget(Operation *op, SharedType target) {
  if (target.getRank() != 2)
    return op->emitOpError("C1: the target is ")
           << target << "; copies go to one stage, so take it with tile.stage";
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  SharedType target = getTarget().getType();
  if (failed(verifyTarget(*this, target)))
    return failure();
  return verifyRowBlock(*this, cast<MemRefType>(getSource().getType()), getIndices().size(),
                        target.getShape(), target.getElementType());
}

LogicalResult GatherAsyncOp::verify() {
  SharedType target = getTarget().getType();
  if (failed(verifyTarget(*this, target)))
    return failure();
  return verifyIndexed(*this, cast<MemRefType>(getSource().getType()), getIndices(), getWhere(),
                       target.getShape(), target.getElementType(), /*rowsOnly=*/true);
}

/// C1 of shared_read and shared_write.
static LogicalResult verifyWholeStage(Operation *op, SharedType buffer, RankedTensorType tile) {
  if (buffer.getShape() != tile.getShape() || buffer.getElementType() != tile.getElementType())
    return op->emitOpError("C1: the buffer is ")
           << buffer << " and the tile " << tile
           << "; shape and element type must agree (take a stage with tile.stage)";
  return success();
}

LogicalResult SharedReadOp::verify() {
  return verifyWholeStage(*this, getSource().getType(), getType());
}

LogicalResult SharedWriteOp::verify() {
  return verifyWholeStage(*this, getTarget().getType(), getValue().getType());
}

LogicalResult WarpRolesOp::verify() {
  size_t roles = getRoles().size();
  if (getWarps().size() != roles || getRegisters().size() != roles)
    return emitOpError("C1: there are ")
           << roles << " regions, " << getWarps().size() << " warps entries and "
           << getRegisters().size() << " registers entries; each role needs one of each";
  for (int32_t warps : getWarps())
    if (warps < 1)
      return emitOpError("C1: a role has at least 1 warp, got ") << warps;
  return success();
}

LogicalResult MmaAsyncOp::verify() {
  return verifyProduct(*this, getA().getType(), getB().getType(), getAcc().getType(),
                       getTransposeB());
}

LogicalResult MmaWaitOp::verify() {
  if (!llvm::equal(getInflight().getTypes(), getResultTypes()))
    return emitOpError("C1: operands have types (")
           << getInflight().getTypes() << ") and results (" << getResultTypes()
           << "); each accumulator is released with its own type";
  return success();
}
