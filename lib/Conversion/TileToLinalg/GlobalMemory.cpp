// Global memory of the host lowering: tile.load, store, gather and scatter as loops over rows or
// elements. Memory of a row at or past the limit, or of a false predicate, is never touched.
#include "TileToLinalg.h"

#include "attnc/Dialect/Tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace attnc {
namespace {

Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value toIndex(OpBuilder &builder, Location loc, Value i32) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), i32);
}

Value zeroOf(OpBuilder &builder, Location loc, Type elementType) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(elementType));
}

/// `columns` elements of one row as a rank-1 view: source[indices…, first : first + columns].
Value rowView(OpBuilder &builder, Location loc, Value source, ValueRange indices, int64_t first,
              int64_t columns) {
  auto type = cast<MemRefType>(source.getType());
  SmallVector<OpFoldResult> offsets(indices.begin(), indices.end());
  offsets.push_back(builder.getIndexAttr(first));
  SmallVector<OpFoldResult> sizes(type.getRank(), builder.getIndexAttr(1));
  sizes.back() = builder.getIndexAttr(columns);
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  MemRefType viewType = memref::SubViewOp::inferRankReducedResultType({columns}, type, offsets,
                                                                      sizes, strides);
  return memref::SubViewOp::create(builder, loc, viewType, source, offsets, sizes, strides);
}

void zeroRow(OpBuilder &builder, Location loc, Value row) {
  Type elementType = cast<MemRefType>(row.getType()).getElementType();
  linalg::FillOp::create(builder, loc, zeroOf(builder, loc, elementType), row);
}

/// min(max(limit − first, 0), rows) as an index: how many rows of a block exist.
Value rowsBelow(OpBuilder &builder, Location loc, Value limit, Value first, int64_t rows) {
  Value count = arith::SubIOp::create(builder, loc, toIndex(builder, loc, limit),
                                      toIndex(builder, loc, first));
  count = arith::MaxSIOp::create(builder, loc, count, constantIndex(builder, loc, 0));
  return arith::MinSIOp::create(builder, loc, count, constantIndex(builder, loc, rows));
}

/// A row of a global tensor into row `row` of a tile's buffer; columns past the source are zero.
void readRow(OpBuilder &builder, Location loc, Value source, ValueRange indices, Value buffer,
             Value row) {
  int64_t wanted = cast<MemRefType>(buffer.getType()).getDimSize(1);
  int64_t present = std::min(wanted, cast<MemRefType>(source.getType()).getShape().back());
  linalg::CopyOp::create(builder, loc, rowView(builder, loc, source, indices, 0, present),
                         rowView(builder, loc, buffer, row, 0, present));
  if (present < wanted)
    zeroRow(builder, loc, rowView(builder, loc, buffer, row, present, wanted - present));
}

void writeRow(OpBuilder &builder, Location loc, Value buffer, Value row, Value target,
              ValueRange indices) {
  int64_t present = std::min(cast<MemRefType>(buffer.getType()).getDimSize(1),
                             cast<MemRefType>(target.getType()).getShape().back());
  linalg::CopyOp::create(builder, loc, rowView(builder, loc, buffer, row, 0, present),
                         rowView(builder, loc, target, indices, 0, present));
}

MemRefType bufferType(Type tile) {
  auto type = cast<RankedTensorType>(tile);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// The tile's buffer, to be read before anything else happens to the tile.
Value readBuffer(OpBuilder &builder, Location loc, Value tile) {
  return bufferization::ToBufferOp::create(builder, loc, bufferType(tile.getType()), tile,
                                           /*read_only=*/true);
}

/// The tile that a filled buffer holds. Not writable: a store of the tile may come to read the
/// buffer itself, unseen by bufferisation.
Value tileOf(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return bufferization::ToTensorOp::create(
      builder, loc, RankedTensorType::get(type.getShape(), type.getElementType()), buffer,
      /*restrict=*/true, /*writable=*/false);
}

void forRows(OpBuilder &builder, Location loc, Value lower, Value upper,
             llvm::function_ref<void(OpBuilder &, Value)> body) {
  scf::ForOp::create(builder, loc, lower, upper, constantIndex(builder, loc, 1), ValueRange(),
                     [&](OpBuilder &b, Location bodyLoc, Value row, ValueRange) {
                       body(b, row);
                       scf::YieldOp::create(b, bodyLoc);
                     });
}

/// The indices of row `row` of a block whose first row is the last of `indices`.
SmallVector<Value> blockIndices(OpBuilder &builder, Location loc, ValueRange indices, Value row) {
  SmallVector<Value> result;
  for (Value index : indices)
    result.push_back(toIndex(builder, loc, index));
  result.back() = arith::AddIOp::create(builder, loc, result.back(), row);
  return result;
}

struct LoadToLoop : OpConversionPattern<tile::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MemRefType type = bufferType(op.getType());
    int64_t rows = type.getDimSize(0);
    Value buffer = memref::AllocOp::create(rewriter, loc, type);
    Value present =
        rowsBelow(rewriter, loc, adaptor.getLimit(), adaptor.getIndices().back(), rows);
    forRows(rewriter, loc, constantIndex(rewriter, loc, 0), present, [&](OpBuilder &b, Value row) {
      readRow(b, loc, adaptor.getSource(), blockIndices(b, loc, adaptor.getIndices(), row), buffer,
              row);
    });
    forRows(rewriter, loc, present, constantIndex(rewriter, loc, rows),
            [&](OpBuilder &b, Value row) {
              zeroRow(b, loc, rowView(b, loc, buffer, row, 0, type.getDimSize(1)));
            });
    rewriter.replaceOp(op, tileOf(rewriter, loc, buffer));
    return success();
  }
};

struct StoreToLoop : OpConversionPattern<tile::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value buffer = readBuffer(rewriter, loc, adaptor.getValue());
    int64_t rows = cast<MemRefType>(buffer.getType()).getDimSize(0);
    Value present =
        rowsBelow(rewriter, loc, adaptor.getLimit(), adaptor.getIndices().back(), rows);
    forRows(rewriter, loc, constantIndex(rewriter, loc, 0), present, [&](OpBuilder &b, Value row) {
      writeRow(b, loc, buffer, row, adaptor.getTarget(),
               blockIndices(b, loc, adaptor.getIndices(), row));
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Row `row` of every index, an i32 or a tile of i32.
SmallVector<Value> indicesAt(OpBuilder &builder, Location loc, ValueRange indices,
                             ValueRange position) {
  SmallVector<Value> result;
  for (Value index : indices) {
    if (isa<RankedTensorType>(index.getType()))
      index = tensor::ExtractOp::create(builder, loc, index, position);
    result.push_back(toIndex(builder, loc, index));
  }
  return result;
}

/// `then` where the predicate holds, which is everywhere when there is none.
void guarded(OpBuilder &builder, Location loc, Value where, ValueRange position,
             llvm::function_ref<void(OpBuilder &)> then,
             llvm::function_ref<void(OpBuilder &)> otherwise = nullptr) {
  if (!where)
    return then(builder);
  Value byte = tensor::ExtractOp::create(builder, loc, where, position);
  Value condition = predicateFromStorage(builder, loc, byte, builder.getI1Type());
  auto thenBuilder = [&](OpBuilder &b, Location bodyLoc) {
    then(b);
    scf::YieldOp::create(b, bodyLoc);
  };
  auto elseBuilder = [&](OpBuilder &b, Location bodyLoc) {
    if (otherwise)
      otherwise(b);
    scf::YieldOp::create(b, bodyLoc);
  };
  if (otherwise)
    scf::IfOp::create(builder, loc, condition, thenBuilder, elseBuilder);
  else
    scf::IfOp::create(builder, loc, condition, thenBuilder);
}

struct GatherToLoop : OpConversionPattern<tile::GatherOp> {
  using OpConversionPattern::OpConversionPattern;

  /// Elements: a linalg.generic over the index tiles, so that the computation of the indices fuses
  /// into it. Its body reads global memory, which no op of the kernel writes, so that linalg may
  /// treat it as pure.
  static Value gatherElements(OpBuilder &builder, tile::GatherOp op, OpAdaptor adaptor) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<Value> inputs;
    for (Value index : adaptor.getIndices())
      if (isa<RankedTensorType>(index.getType()))
        inputs.push_back(index);
    if (adaptor.getWhere())
      inputs.push_back(adaptor.getWhere());
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
    SmallVector<AffineMap> maps(inputs.size() + 1, builder.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        builder, loc, type, inputs, empty, maps, iterators,
        [&](OpBuilder &b, Location bodyLoc, ValueRange args) {
          unsigned next = 0;
          SmallVector<Value> indices;
          for (Value index : adaptor.getIndices())
            indices.push_back(toIndex(
                b, bodyLoc, isa<RankedTensorType>(index.getType()) ? args[next++] : index));
          Value element;
          if (adaptor.getWhere()) {
            Value condition = predicateFromStorage(b, bodyLoc, args[next], b.getI1Type());
            auto choice = scf::IfOp::create(
                b, bodyLoc, condition,
                [&](OpBuilder &inner, Location innerLoc) {
                  scf::YieldOp::create(inner, innerLoc,
                                       memref::LoadOp::create(inner, innerLoc, adaptor.getSource(),
                                                              indices)
                                           .getResult());
                },
                [&](OpBuilder &inner, Location innerLoc) {
                  scf::YieldOp::create(inner, innerLoc,
                                       zeroOf(inner, innerLoc, type.getElementType()));
                });
            element = choice.getResult(0);
          } else {
            element = memref::LoadOp::create(b, bodyLoc, adaptor.getSource(), indices);
          }
          linalg::YieldOp::create(b, bodyLoc, element);
        });
    return generic.getResult(0);
  }

  static Value gatherRows(OpBuilder &builder, tile::GatherOp op, OpAdaptor adaptor) {
    Location loc = op.getLoc();
    MemRefType type = bufferType(op.getType());
    Value buffer = memref::AllocOp::create(builder, loc, type);
    forRows(builder, loc, constantIndex(builder, loc, 0),
            constantIndex(builder, loc, type.getDimSize(0)), [&](OpBuilder &b, Value row) {
              guarded(
                  b, loc, adaptor.getWhere(), row,
                  [&](OpBuilder &then) {
                    readRow(then, loc, adaptor.getSource(),
                            indicesAt(then, loc, adaptor.getIndices(), row), buffer, row);
                  },
                  [&](OpBuilder &otherwise) {
                    zeroRow(otherwise, loc,
                            rowView(otherwise, loc, buffer, row, 0, type.getDimSize(1)));
                  });
            });
    return tileOf(builder, loc, buffer);
  }

  LogicalResult matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    int64_t rank = cast<MemRefType>(op.getSource().getType()).getRank();
    bool elements = static_cast<int64_t>(op.getIndices().size()) == rank;
    rewriter.replaceOp(op, elements ? gatherElements(rewriter, op, adaptor)
                                    : gatherRows(rewriter, op, adaptor));
    return success();
  }
};

struct ScatterToLoop : OpConversionPattern<tile::ScatterOp> {
  using OpConversionPattern::OpConversionPattern;

  static void scatterElements(OpBuilder &builder, Location loc, OpAdaptor adaptor,
                              SmallVector<Value> position) {
    auto type = cast<RankedTensorType>(adaptor.getValue().getType());
    if (static_cast<int64_t>(position.size()) < type.getRank()) {
      forRows(builder, loc, constantIndex(builder, loc, 0),
              constantIndex(builder, loc, type.getDimSize(position.size())),
              [&](OpBuilder &b, Value row) {
                SmallVector<Value> inner(position);
                inner.push_back(row);
                scatterElements(b, loc, adaptor, inner);
              });
      return;
    }
    guarded(builder, loc, adaptor.getWhere(), position, [&](OpBuilder &b) {
      Value element = tensor::ExtractOp::create(b, loc, adaptor.getValue(), position);
      memref::StoreOp::create(b, loc, element, adaptor.getTarget(),
                              indicesAt(b, loc, adaptor.getIndices(), position));
    });
  }

  static void scatterRows(OpBuilder &builder, Location loc, OpAdaptor adaptor) {
    Value buffer = readBuffer(builder, loc, adaptor.getValue());
    forRows(builder, loc, constantIndex(builder, loc, 0),
            constantIndex(builder, loc, cast<MemRefType>(buffer.getType()).getDimSize(0)),
            [&](OpBuilder &b, Value row) {
              guarded(b, loc, adaptor.getWhere(), row, [&](OpBuilder &then) {
                writeRow(then, loc, buffer, row, adaptor.getTarget(),
                         indicesAt(then, loc, adaptor.getIndices(), row));
              });
            });
  }

  LogicalResult matchAndRewrite(tile::ScatterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    int64_t rank = cast<MemRefType>(op.getTarget().getType()).getRank();
    if (static_cast<int64_t>(op.getIndices().size()) == rank)
      scatterElements(rewriter, op.getLoc(), adaptor, {});
    else
      scatterRows(rewriter, op.getLoc(), adaptor);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateGlobalMemoryPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<GatherToLoop, LoadToLoop, ScatterToLoop, StoreToLoop>(converter,
                                                                     patterns.getContext());
}

} // namespace attnc
