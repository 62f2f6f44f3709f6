// Registers the tile dialect; prints, parses and verifies its types and attributes.
#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Dialect/Tile/TileLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#include "attnc/Dialect/Tile/TileDialect.cpp.inc"
#include "attnc/Dialect/Tile/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Tile/TileAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "attnc/Dialect/Tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attnc/Dialect/Tile/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "attnc/Dialect/Tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Tile/TileOps.cpp.inc"
      >();
}

int64_t SharedType::getSizeInBytes() const {
  int64_t stages = getRank() == 3 ? getShape()[0] : 1;
  return stages * getStageElements() * getElementType().getIntOrFloatBitWidth() / 8;
}

Type SharedType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t pitch = 0, swizzle = 0;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma())
    return {};
  if (succeeded(parser.parseOptionalKeyword("swizzle"))) {
    if (parser.parseEqual() || parser.parseInteger(swizzle))
      return {};
    pitch = shape.empty() ? 0 : shape.back();
  } else if (parser.parseKeyword("pitch") || parser.parseEqual() || parser.parseInteger(pitch)) {
    return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(),
                    shape, elementType, pitch, swizzle);
}

void SharedType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getShape())
    printer << extent << 'x';
  printer << getElementType();
  if (getSwizzle())
    printer << ", swizzle = " << getSwizzle() << '>';
  else
    printer << ", pitch = " << getPitch() << '>';
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType, int64_t pitch,
                                 int64_t swizzle) {
  if (shape.size() != 2 && shape.size() != 3)
    return emitError() << "a shared buffer has 2 or 3 dimensions, got " << shape.size();
  if (!elementType.isIntOrFloat())
    return emitError() << "a shared buffer holds floats or integers, got " << elementType;
  for (int64_t extent : shape)
    if (extent <= 0)
      return emitError() << "extents of a shared buffer are positive, got " << extent;
  if (pitch < shape.back())
    return emitError() << "pitch " << pitch << " is less than the " << shape.back() << " columns";
  if (swizzle == 0)
    return success();
  int64_t panel = 1024 / elementType.getIntOrFloatBitWidth();
  if (swizzle != 128)
    return emitError() << "swizzle is 128 (bytes) or absent, got " << swizzle;
  if (pitch != shape.back() || shape.back() % panel != 0 || shape[shape.size() - 2] % 8 != 0)
    return emitError() << "a swizzled stage has columns in multiples of " << panel
                       << ", rows in multiples of 8 and no padding; got "
                       << shape[shape.size() - 2] << "x" << shape.back() << ", pitch " << pitch;
  return success();
}

Type TensorMapType::parse(AsmParser &parser) {
  SmallVector<int64_t> box;
  Type elementType;
  if (parser.parseLess() || parser.parseDimensionList(box, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseGreater())
    return {};
  return get(parser.getContext(), box, elementType);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getBox())
    printer << extent << 'x';
  printer << getElementType() << '>';
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

void LayoutAttr::print(AsmPrinter &printer) const {
  Layout layout = Layout::get(*this);
  printer << "<reg = ";
  printModes(printer.getStream(), layout.reg);
  printer << ", lane = ";
  printModes(printer.getStream(), layout.lane);
  printer << ", warp = ";
  printModes(printer.getStream(), layout.warp);
  printer << '>';
}

/// Parses `name = [extent:(step, …), …]`; every mode must have the rank of the first one seen.
static ParseResult parseModes(AsmParser &parser, StringRef name, int64_t &rank,
                              SmallVector<int64_t> &flat) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    int64_t extent = 0;
    SmallVector<int64_t> step;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseInteger(extent) || parser.parseColon() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
          return parser.parseInteger(step.emplace_back());
        }))
      return failure();
    if (rank == 0)
      rank = step.size();
    if (static_cast<int64_t>(step.size()) != rank)
      return parser.emitError(loc, "a mode has ")
             << step.size() << " steps where the first has " << rank;
    flat.push_back(extent);
    llvm::append_range(flat, step);
    return success();
  });
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  int64_t rank = 0;
  SmallVector<int64_t> reg, lane, warp;
  if (parser.parseLess() || parseModes(parser, "reg", rank, reg) || parser.parseComma() ||
      parseModes(parser, "lane", rank, lane) || parser.parseComma() ||
      parseModes(parser, "warp", rank, warp) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(),
                    rank, reg, lane, warp);
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rank,
                                 ArrayRef<int64_t> reg, ArrayRef<int64_t> lane,
                                 ArrayRef<int64_t> warp) {
  if (rank != 1 && rank != 2)
    return emitError() << "a layout has rank 1 or 2, got " << rank;
  int64_t lanes = 1;
  for (ArrayRef<int64_t> flat : {reg, lane, warp}) {
    if (flat.size() % (rank + 1) != 0)
      return emitError() << "a mode list of rank " << rank << " has " << flat.size() << " numbers";
    for (size_t i = 0; i < flat.size(); i += rank + 1) {
      if (flat[i] < 1)
        return emitError() << "the extent of a mode is at least 1, got " << flat[i];
      for (int64_t step : flat.slice(i + 1, rank))
        if (step < 0)
          return emitError() << "a mode's step is not negative, got " << step;
    }
  }
  for (size_t i = 0; i < lane.size(); i += rank + 1)
    lanes *= lane[i];
  if (lanes != 32)
    return emitError() << "the lane modes cover 32 lanes, got " << lanes;
  return success();
}
