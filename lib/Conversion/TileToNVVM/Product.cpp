// tile.mma as mma.sync.m16n8k16, operands from registers or by ldmatrix from shared memory.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

namespace {

/// Reads 16×16 blocks of a shared tile as four 8×8 matrices, by one ldmatrix.x4 each.
class MatrixReader {
public:
  /// `rowOfLane` and `columnOfLane` say which row start a lane supplies within a block.
  MatrixReader(ThreadBuilder &tb, SharedType type, Value base, Value rowOfLane, Value columnOfLane,
               bool transpose)
      : tb(tb), type(type), transpose(transpose) {
    Value offset = tb.add(tb.mul(rowOfLane, type.getPitch()), columnOfLane);
    start = movePointer(tb, base, type.getElementType(), offset);
  }

  /// The block whose first element is (row, column).
  SmallVector<Value, 4> read(int64_t row, int64_t column) {
    OpBuilder &b = tb.builder;
    Type i32 = b.getI32Type();
    Type four = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32});
    Value address = movePointer(tb, start, type.getElementType(), row * type.getPitch() + column);
    Value matrices = NVVM::LdMatrixOp::create(
        b, tb.loc, four, address, /*num=*/4,
        transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
    SmallVector<Value, 4> parts;
    for (int64_t i = 0; i < 4; ++i)
      parts.push_back(LLVM::ExtractValueOp::create(b, tb.loc, matrices, i));
    return parts;
  }

private:
  ThreadBuilder &tb;
  SharedType type;
  bool transpose;
  Value start;
};

/// The A operand: 16 rows × 16 columns of it at a time.
class OperandA {
public:
  OperandA(ThreadBuilder &tb, MmaOp op, ValueRange converted, int64_t rowsPerWarp)
      : tb(tb), rowsPerWarp(rowsPerWarp) {
    if (auto shared = dyn_cast<SharedType>(op.getA().getType())) {
      columns = shared.getShape()[1];
      Value lane = tb.lane();
      OpBuilder &b = tb.builder;
      Value row = arith::AndIOp::create(b, tb.loc, lane, tb.i32(15));
      Value column = tb.mul(arith::ShRUIOp::create(b, tb.loc, lane, tb.i32(4)), 8);
      row = tb.add(row, tb.mul(tb.warp(), rowsPerWarp));
      reader.emplace(tb, shared, converted.front(), row, column, /*transpose=*/false);
      return;
    }
    columns = cast<RankedTensorType>(op.getA().getType()).getDimSize(1);
    registers = SmallVector<Value>(converted);
  }

  SmallVector<Value, 4> fragment(int64_t rowGroup, int64_t kStep) {
    if (reader)
      return reader->read(rowGroup * 16, kStep * 16);
    // Registers of mmaLayout: a pair, its row + 8, then column groups of 8, then row groups of 16.
    int64_t first = rowGroup * (columns / 8) * 4 + kStep * 8;
    SmallVector<Value, 4> parts;
    for (int64_t i = 0; i < 4; ++i)
      parts.push_back(packPair(tb, registers[first + 2 * i], registers[first + 2 * i + 1]));
    return parts;
  }

  int64_t columns = 0;

private:
  ThreadBuilder &tb;
  int64_t rowsPerWarp;
  std::optional<MatrixReader> reader;
  SmallVector<Value> registers;
};

struct MmaPattern : OpConversionPattern<MmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto shared = dyn_cast<SharedType>(op.getB().getType());
    if (!shared)
      return rewriter.notifyMatchFailure(op, "the second operand is not in shared memory");
    Type element = shared.getElementType();
    if (!element.isBF16() && !element.isF16())
      return op.emitError("mma.sync takes f16 or bf16 operands, got ") << element;
    auto accType = cast<RankedTensorType>(op.getAcc().getType());
    Layout layout = layoutOf(accType);
    int64_t rows = accType.getDimSize(0), cols = accType.getDimSize(1);
    int64_t warps = layout.numWarps(), rowsPerWarp = rows / warps;
    if (!(layout == mmaLayout(rows, cols, warps).normalized()))
      return op.emitError("the accumulator is not in the layout of mma.m16n8k16");

    ThreadBuilder tb(rewriter, op.getLoc());
    OperandA a(tb, op, adaptor.getA(), rowsPerWarp);
    MatrixReader b = makeReaderB(tb, shared, adaptor.getB().front(), op.getTransposeB());
    int64_t rowGroups = rowsPerWarp / 16, groupRegs = cols / 8 * 4;
    SmallVector<Value> acc(adaptor.getAcc());
    for (int64_t k = 0; k < a.columns / 16; ++k) {
      SmallVector<SmallVector<Value, 4>> fragments;
      for (int64_t g = 0; g < rowGroups; ++g)
        fragments.push_back(a.fragment(g, k));
      for (int64_t n = 0; n < cols / 16; ++n) {
        SmallVector<Value, 4> parts =
            op.getTransposeB() ? b.read(n * 16, k * 16) : b.read(k * 16, n * 16);
        for (int64_t g = 0; g < rowGroups; ++g)
          for (int64_t half = 0; half < 2; ++half) {
            int64_t first = g * groupRegs + (2 * n + half) * 4;
            multiply(tb, element, fragments[g], {parts[2 * half], parts[2 * half + 1]},
                     MutableArrayRef<Value>(acc).slice(first, 4));
          }
      }
    }
    rewriter.replaceOpWithMultiple(op, {acc});
    return success();
  }

  /// B as the column operand: matrices (n, k), (n, k+8), (n+8, k), (n+8, k+8) of a 16×16 block.
  static MatrixReader makeReaderB(ThreadBuilder &tb, SharedType type, Value base, bool transposeB) {
    OpBuilder &b = tb.builder;
    Value lane = tb.lane();
    auto bits = [&](int64_t shift, int64_t mask) -> Value {
      Value shifted =
          shift ? arith::ShRUIOp::create(b, tb.loc, lane, tb.i32(shift)).getResult() : lane;
      return arith::AndIOp::create(b, tb.loc, shifted, tb.i32(mask));
    };
    if (transposeB) {
      // Rows of the buffer are n: they are the operand's columns as they lie.
      Value row = tb.add(bits(0, 7), tb.mul(bits(4, 1), 8));
      return MatrixReader(tb, type, base, row, tb.mul(bits(3, 1), 8), /*transpose=*/false);
    }
    // Rows of the buffer are k: the read transposes.
    return MatrixReader(tb, type, base, bits(0, 15), tb.mul(bits(4, 1), 8), /*transpose=*/true);
  }

  static void multiply(ThreadBuilder &tb, Type element, ArrayRef<Value> a, ArrayRef<Value> b,
                       MutableArrayRef<Value> acc) {
    OpBuilder &builder = tb.builder;
    Type f32 = builder.getF32Type();
    Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(), {f32, f32, f32, f32});
    SmallVector<Value> operandA(a), operandB(b);
    std::array<NVVM::MMATypes, 2> types;
    if (element.isBF16()) {
      types = {NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
    } else {
      types = {NVVM::MMATypes::f16, NVVM::MMATypes::f16};
      Type pair = VectorType::get({2}, element);
      for (auto *operands : {&operandA, &operandB})
        for (Value &value : *operands)
          value = LLVM::BitcastOp::create(builder, tb.loc, pair, value);
    }
    Value product = NVVM::MmaOp::create(
        builder, tb.loc, result, operandA, operandB, ValueRange(acc), ArrayRef<int64_t>{16, 8, 16},
        std::nullopt, std::nullopt, types,
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (int64_t i = 0; i < 4; ++i)
      acc[i] = LLVM::ExtractValueOp::create(builder, tb.loc, product, i);
  }
};

} // namespace

void attnc::populateProductPatterns(const ThreadTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<MmaPattern>(converter, patterns.getContext());
}
