// Registers the attn dialect, its attributes and its region helpers.
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#include "attnc/Dialect/Attn/AttnDialect.cpp.inc"
#include "attnc/Dialect/Attn/AttnEnums.cpp.inc"
#include "attnc/Dialect/Attn/AttnInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Attn/AttnAttrs.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attnc/Dialect/Attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
      >();
}

/// An entry block whose arguments are, in order, the given types.
static Block *createEntry(OpBuilder &builder, Region &region, TypeRange types, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locs(types.size(), loc);
  return builder.createBlock(&region, region.end(), types, locs);
}

Block *attn::createMaskBlock(OpBuilder &builder, Region &region, Location loc) {
  SmallVector<Type> types(kMaskArgs, builder.getI32Type());
  return createEntry(builder, region, types, loc);
}

Block *attn::createScoreBlock(OpBuilder &builder, Region &region, Location loc) {
  SmallVector<Type> types(kScoreArgs, builder.getI32Type());
  types.front() = builder.getF32Type();
  return createEntry(builder, region, types, loc);
}

Block *attn::createBoundsBlock(OpBuilder &builder, Region &region, Location loc) {
  SmallVector<Type> types(kBoundsArgs, builder.getI32Type());
  return createEntry(builder, region, types, loc);
}

NamedMaskBounds attn::combineNamedMasks(ArrayAttr masks) {
  NamedMaskBounds bounds;
  auto tighten = [](std::optional<int64_t> &bound, int64_t value) {
    bound = bound ? std::min(*bound, value) : value;
  };
  if (!masks)
    return bounds;
  for (Attribute mask : masks) {
    if (auto window = dyn_cast<WindowAttr>(mask)) {
      if (window.getLeft() >= 0)
        tighten(bounds.left, window.getLeft());
      if (window.getRight() >= 0)
        tighten(bounds.right, window.getRight());
    } else if (cast<CausalAttr>(mask).getAlign() == Align::BottomRight) {
      tighten(bounds.right, 0);
    } else {
      bounds.topLeft = true;
    }
  }
  return bounds;
}
