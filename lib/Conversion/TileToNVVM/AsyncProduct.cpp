// tile.mma_async and tile.mma_wait as wgmma, the products of four warps together.
//
// One op becomes one assembly block: fence, all steps along k, commit. The accumulators are its SSA
// operands and results, so LLVM keeps them in place and nothing can come between the steps. (NVVM's
// own op has no form with A in registers.) PTX ISA, "Asynchronous warpgroup level matrix".
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

namespace {

/// Descriptors count in 16 bytes. A panel's row is 128 bytes, and its swizzle repeats after 8 rows.
constexpr int64_t kUnitsOfRow = 8, kRowsOfSwizzle = 8, kBytesOfPanelRow = 128;
constexpr int64_t kRowsOfGroup = 64, kWarpsOfGroup = 4, kMaxColumns = 256, kStep = 16;

/// A swizzled stage as wgmma's descriptors see it: where the steps along its dimensions lead.
struct SwizzledOperand {
  explicit SwizzledOperand(SharedType type) : rows(type.getShape()[0]) {
    panelColumns = kBytesOfPanelRow * 8 / type.getElementType().getIntOrFloatBitWidth();
  }

  /// Descriptor units from the stage's start to element (row, column); columns within a panel in
  /// steps of 16 bytes.
  int64_t offset(int64_t row, int64_t column) const {
    int64_t unitColumns = panelColumns / kUnitsOfRow;
    return column / panelColumns * rows * kUnitsOfRow + row * kUnitsOfRow +
           column % panelColumns / unitColumns;
  }

  /// The descriptor of the stage's start. `acrossPanels` says that the dimension other than k runs
  /// along the columns, so that the leading offset steps over panels.
  Value descriptor(ThreadBuilder &tb, Value base, bool acrossPanels) const {
    OpBuilder &b = tb.builder;
    Value address = sharedAddress(tb, base);
    // 18 bits of address, in units.
    address = arith::AndIOp::create(b, tb.loc, address, tb.i32(0x3FFFF));
    address = arith::ShRUIOp::create(b, tb.loc, address, tb.i32(4));
    Value wide = arith::ExtUIOp::create(b, tb.loc, b.getI64Type(), address);
    // Where k runs along the panel, the leading offset is unused and 1 by convention.
    int64_t leading = acrossPanels ? rows * kUnitsOfRow : 1;
    int64_t stride = kRowsOfSwizzle * kUnitsOfRow;
    constexpr int64_t kSwizzle128 = int64_t(1) << 62;
    return arith::OrIOp::create(b, tb.loc, wide,
                                tb.i64(leading << 16 | stride << 32 | kSwizzle128));
  }

  int64_t rows, panelColumns;
};

/// The text of one assembly block and the operands that its `$i` name.
class ProductBlock {
public:
  ProductBlock(ThreadBuilder &tb, ValueRange acc, bool startFromZero)
      : tb(tb), acc(acc), accumulates(!startFromZero) {
    for (size_t i = 0; i < acc.size(); ++i)
      constrain("=f");
    if (accumulates)
      for (auto [i, value] : llvm::enumerate(acc))
        addOperand(value, std::to_string(i));
    text << "{ .reg .pred no, yes; .reg .b64 at, bt; setp.ne.b32 no, 0, 0; "
            "setp.eq.b32 yes, 0, 0; wgmma.fence.sync.aligned; ";
  }

  /// Adds an operand and returns its number in the text.
  int64_t addOperand(Value value, StringRef constraint) {
    operands.push_back(value);
    constrain(constraint);
    return static_cast<int64_t>(next++);
  }

  /// `name` becomes operand + units.
  void point(StringRef name, int64_t operand, int64_t units) {
    text << "add.s64 " << name << ", $" << operand << ", " << units << "; ";
  }

  /// One step along k for accumulator columns [column, column + columns).
  void multiply(StringRef type, int64_t column, int64_t columns, const Twine &a, bool aInRegisters,
                bool acrossPanels) {
    text << "wgmma.mma_async.sync.aligned.m64n" << columns << "k16.f32." << type << '.' << type
         << " {";
    // Four registers for each eight columns.
    int64_t first = column / 2;
    for (int64_t r = first; r < first + columns / 2; ++r)
      text << (r == first ? "$" : ", $") << r;
    bool &started = startedColumns[column];
    text << "}, " << a << ", bt, " << (started || accumulates ? "yes" : "no") << ", 1, 1, ";
    if (!aInRegisters)
      text << "0, ";
    text << (acrossPanels ? 1 : 0) << "; ";
    started = true;
  }

  SmallVector<Value> finish() {
    text << "wgmma.commit_group.sync.aligned; }";
    OpBuilder &b = tb.builder;
    SmallVector<Type> types(acc.size(), b.getF32Type());
    Type all = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
    Operation *block = emitAssembly(tb, all, operands, body, constraints);
    SmallVector<Value> results;
    for (size_t i = 0; i < acc.size(); ++i)
      results.push_back(LLVM::ExtractValueOp::create(b, tb.loc, block->getResult(0), i));
    return results;
  }

private:
  void constrain(StringRef constraint) {
    if (!constraints.empty())
      constraints += ',';
    constraints += constraint;
  }

  ThreadBuilder &tb;
  ValueRange acc;
  bool accumulates;
  SmallVector<Value> operands;
  std::string constraints, body;
  llvm::raw_string_ostream text{body};
  llvm::SmallDenseMap<int64_t, bool> startedColumns;
  size_t next = acc.size();
};

struct MmaAsyncPattern : OpConversionPattern<MmaAsyncOp> {
  using OpConversionPattern::OpConversionPattern;

  static LogicalResult verify(MmaAsyncOp op, SharedType b, const WarpRole &role) {
    auto accType = cast<RankedTensorType>(op.getAcc().getType());
    Type element = b.getElementType();
    if (!element.isBF16() && !element.isF16())
      return op.emitError("wgmma takes f16 or bf16 operands here, got ") << element;
    for (Value operand : {op.getA(), op.getB()})
      if (auto shared = dyn_cast<SharedType>(operand.getType());
          shared && (shared.getSwizzle() != 128 || shared.getRank() != 2))
        return op.emitError("an operand in shared memory is one swizzled stage, got ") << shared;
    int64_t rows = accType.getDimSize(0), warps = role.warps;
    if (warps % kWarpsOfGroup != 0 || role.firstWarp % kWarpsOfGroup != 0 || rows != 16 * warps)
      return op.emitError("a product of ")
             << rows << " rows needs " << rows / 16 << " warps in groups of four; "
             << warps << " warps execute it";
    if (!(layoutOf(accType) == mmaLayout(rows, accType.getDimSize(1), warps).normalized()))
      return op.emitError("the accumulator is not in the layout of wgmma over ")
             << warps << " warps";
    return success();
  }

  LogicalResult matchAndRewrite(MmaAsyncOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto sharedB = dyn_cast<SharedType>(op.getB().getType());
    if (!sharedB)
      return rewriter.notifyMatchFailure(op, "the second operand is not in shared memory");
    WarpRole role = enclosingRole(rewriter.getInsertionBlock());
    if (failed(verify(op, sharedB, role)))
      return failure();
    ThreadBuilder tb(rewriter, op.getLoc());
    bool acrossPanels = !op.getTransposeB();
    int64_t columns = cast<RankedTensorType>(op.getAcc().getType()).getDimSize(1);
    int64_t depth = sharedB.getShape()[op.getTransposeB() ? 1 : 0];
    SwizzledOperand b(sharedB);
    ProductBlock block(tb, adaptor.getAcc(), llvm::all_of(adaptor.getAcc(), [](Value value) {
                         return matchPattern(value, m_AnyZeroFloat());
                       }));

    // A: the group's 64 rows of a stage, or pairs of registers.
    auto sharedA = dyn_cast<SharedType>(op.getA().getType());
    int64_t a = sharedA ? addRowsOfGroup(tb, block, sharedA, adaptor.getA().front())
                        : addPairs(tb, block, adaptor.getA());
    int64_t bStart =
        block.addOperand(b.descriptor(tb, adaptor.getB().front(), acrossPanels), "l");
    StringRef type = sharedB.getElementType().isBF16() ? "bf16" : "f16";
    for (int64_t k = 0; k < depth; k += kStep) {
      std::string first = "at";
      if (sharedA)
        block.point("at", a, SwizzledOperand(sharedA).offset(0, k));
      else
        first = registerList(a + k / kStep * 4);
      for (int64_t n = 0; n < columns; n += kMaxColumns) {
        block.point("bt", bStart, acrossPanels ? b.offset(k, n) : b.offset(n, k));
        block.multiply(type, n, std::min(kMaxColumns, columns - n), first, !sharedA, acrossPanels);
      }
    }
    rewriter.replaceOpWithMultiple(op, {block.finish()});
    return success();
  }

  /// The descriptor of the rows of this thread's group of warps. The group's index is uniform, and
  /// so stays the descriptor.
  static int64_t addRowsOfGroup(ThreadBuilder &tb, ProductBlock &block, SharedType type,
                                Value base) {
    OpBuilder &b = tb.builder;
    Value start = SwizzledOperand(type).descriptor(tb, base, /*acrossPanels=*/false);
    if (type.getShape()[0] > kRowsOfGroup) {
      Value group = arith::ShRUIOp::create(b, tb.loc, uniformWarp(tb), tb.i32(2));
      Value units = tb.mul(group, kRowsOfGroup * kUnitsOfRow);
      start = arith::AddIOp::create(
          b, tb.loc, start, arith::ExtUIOp::create(b, tb.loc, b.getI64Type(), units).getResult());
    }
    return block.addOperand(start, "l");
  }

  static int64_t addPairs(ThreadBuilder &tb, ProductBlock &block, ValueRange registers) {
    int64_t first = -1;
    for (size_t i = 0; i < registers.size(); i += 2) {
      int64_t index = block.addOperand(packPair(tb, registers[i], registers[i + 1]), "r");
      first = i == 0 ? index : first;
    }
    return first;
  }

  static std::string registerList(int64_t first) {
    std::string list = "{";
    for (int64_t i = 0; i < 4; ++i)
      list += (i == 0 ? "$" : ", $") + std::to_string(first + i);
    return list + "}";
  }
};

/// All values pass through the wait, so that nothing that uses them can move above it.
struct MmaWaitPattern : OpConversionPattern<MmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MmaWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder tb(rewriter, op.getLoc());
    OpBuilder &b = tb.builder;
    SmallVector<Value> passed;
    SmallVector<int64_t> registersOf;
    for (auto [range, original] : llvm::zip(adaptor.getInflight(), op.getInflight())) {
      Type element = cast<RankedTensorType>(original.getType()).getElementType();
      int64_t before = passed.size();
      if (element.isF32()) {
        llvm::append_range(passed, range);
      } else if (element.getIntOrFloatBitWidth() == 16 && range.size() % 2 == 0) {
        // As the product's operand takes them: in pairs.
        for (size_t i = 0; i < range.size(); i += 2)
          passed.push_back(packPair(tb, range[i], range[i + 1]));
      } else {
        return op.emitError("waits release f32 tiles and pairs of 16-bit elements, got ")
               << original.getType();
      }
      registersOf.push_back(passed.size() - before);
    }
    std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";";
    if (passed.empty()) {
      emitAssembly(tb, Type(), {}, text, "~{memory}");
      rewriter.eraseOp(op);
      return success();
    }
    std::string outputs, inputs;
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(passed)) {
      outputs += value.getType().isF32() ? "=f," : "=r,";
      inputs += std::to_string(i) + ",";
      types.push_back(value.getType());
    }
    inputs.pop_back();
    Type all = types.size() == 1 ? types.front()
                                 : LLVM::LLVMStructType::getLiteral(b.getContext(), types);
    Value released = emitAssembly(tb, all, passed, text, outputs + inputs)->getResult(0);
    int64_t next = 0;
    auto take = [&]() -> Value {
      int64_t index = next++;
      return types.size() == 1
                 ? released
                 : LLVM::ExtractValueOp::create(b, tb.loc, released, index).getResult();
    };
    SmallVector<SmallVector<Value>> results;
    for (auto [count, original] : llvm::zip(registersOf, op.getInflight())) {
      Type element = cast<RankedTensorType>(original.getType()).getElementType();
      SmallVector<Value> &values = results.emplace_back();
      for (int64_t i = 0; i < count; ++i) {
        Value value = take();
        if (element.isF32()) {
          values.push_back(value);
          continue;
        }
        Value pair = LLVM::BitcastOp::create(b, tb.loc, VectorType::get({2}, element), value);
        for (int64_t half = 0; half < 2; ++half)
          values.push_back(LLVM::ExtractElementOp::create(b, tb.loc, pair, tb.i32(half)));
      }
    }
    rewriter.replaceOpWithMultiple(op, results);
    return success();
  }
};

} // namespace

void attnc::populateAsyncProductPatterns(const ThreadTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<MmaAsyncPattern, MmaWaitPattern>(converter, patterns.getContext());
}
