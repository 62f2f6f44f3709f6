// Fuzzes the expression language: what parses must print to text that parses to the same, and must
// survive the way into a region and back.
#include "FuzzTarget.h"

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Spec/Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>

using namespace attnc;

namespace {

const std::vector<SpecArg> &arguments() {
  static const std::vector<SpecArg> args = [] {
    std::vector<SpecArg> list(6);
    list[0].name = "cap";
    list[1].name = "win";
    list[1].dtype = DType::I32;
    list[2].name = "rel";
    list[2].shape = {8, -1};
    list[3].name = "doc";
    list[3].dtype = DType::I32;
    list[3].shape = {-1, -1};
    list[4].name = "flag";
    list[4].dtype = DType::Bool;
    list[4].shape = {-1};
    list[5].name = "half";
    list[5].dtype = DType::BF16;
    list[5].shape = {-1};
    return list;
  }();
  return args;
}

std::shared_ptr<const Expression> parseText(llvm::StringRef text, ExprRole role) {
  bool failed = false;
  auto expression = parseExpression(
      text, role, arguments(), [](size_t) { return SpecLoc(); },
      [&](size_t offset, const std::string &message) {
        FUZZ_CHECK(offset <= text.size());
        FUZZ_CHECK(!message.empty());
        failed = true;
      });
  FUZZ_CHECK(failed == !expression); // never silent, never half
  return expression;
}

/// Emits into a fresh op's region and reads that back.
std::shared_ptr<const Expression> throughRegion(const Expression &expression, ExprRole role) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 5000 == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<mlir::attn::AttnDialect, mlir::arith::ArithDialect,
                         mlir::math::MathDialect>();
  }
  mlir::OpBuilder builder(context.get());
  mlir::Location loc = builder.getUnknownLoc();
  mlir::Block outer;
  llvm::StringMap<mlir::Value> values;
  llvm::DenseMap<mlir::Value, llvm::StringRef> names;
  for (const SpecArg &arg : arguments()) {
    mlir::Type type = arg.dtype == DType::I32    ? mlir::Type(builder.getI32Type())
                      : arg.dtype == DType::Bool ? mlir::Type(builder.getI8Type())
                      : arg.dtype == DType::BF16 ? mlir::Type(builder.getBF16Type())
                                                 : mlir::Type(builder.getF32Type());
    if (arg.isTensor())
      type = mlir::RankedTensorType::get(
          std::vector<int64_t>(arg.shape.size(), mlir::ShapedType::kDynamic), type);
    mlir::Value value = outer.addArgument(type, loc);
    values[arg.name] = value;
    names[value] = arg.name;
  }
  mlir::Region region;
  mlir::Block *block = role == ExprRole::Mask ? mlir::attn::createMaskBlock(builder, region, loc)
                                              : mlir::attn::createScoreBlock(builder, region, loc);
  builder.setInsertionPointToEnd(block);
  ExpressionEmitter emitter(builder, block, role, values, "");
  mlir::Value result = emitter.emit(*expression.root);
  FUZZ_CHECK(result);
  FUZZ_CHECK(role == ExprRole::Mask ? result.getType().isInteger(1) : result.getType().isF32());
  mlir::attn::YieldOp::create(builder, loc, result);
  std::string why;
  auto back =
      importExpression(region, role, [&](mlir::Value value) { return names.lookup(value); }, why);
  FUZZ_CHECK((back == nullptr) == !why.empty());
  region.dropAllReferences();
  region.getBlocks().clear();
  return back;
}

void check(llvm::StringRef text, ExprRole role) {
  auto first = parseText(text, role);
  if (!first)
    return;
  auto second = parseText(first->text, role);
  FUZZ_CHECK(second != nullptr);
  FUZZ_CHECK(second->text == first->text);
  auto back = throughRegion(*first, role);
  FUZZ_CHECK(back != nullptr);
  // The importer may find a shorter name (q_idx + (len_kv - len_q) is q_pos), but then stays there.
  auto reparsed = parseText(back->text, role);
  FUZZ_CHECK(reparsed != nullptr);
  FUZZ_CHECK(reparsed->text == back->text);
  auto again = throughRegion(*reparsed, role);
  FUZZ_CHECK(again != nullptr);
  FUZZ_CHECK(again->text == back->text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  check(text, ExprRole::Mask);
  check(text, ExprRole::Score);
  return 0;
}

std::vector<std::string> fuzzSeeds() {
  return {"q_pos >= kv_pos and q_pos - kv_pos < win",
          "doc[b, max(q_pos, 0)] == doc[b, kv_pos] or kv_pos < win and not flag[kv_pos]",
          "cap * tanh(s / cap)",
          "s + rel[h, min(max(kv_pos - q_pos, -128), 128) + 128]",
          "s - (exp2((h + 1) * -0.25) if h < 32 else exp2((2 * (h - 32) + 1) * -0.125)) * (q_pos - "
          "kv_pos)",
          "where(kv_pos // 4 % 2 == 0, s * half[h], -s) + int(cap) - float(b != 0)",
          "(b == 0) == (h == 0) != (len_q <= len_kv)",
          "min(s, 1, cap, exp(s)) + max(abs(s), log(s), log2(s), sqrt(s)) + floor(s / 2) // 3.5",
          "true",
          "(s + 1) * -2e-3 % 7"};
}

std::vector<std::string> fuzzTokens() {
  std::vector<std::string> tokens = {"(",
                                     ")",
                                     "[",
                                     "]",
                                     ", ",
                                     " + ",
                                     " - ",
                                     " * ",
                                     " / ",
                                     " // ",
                                     " % ",
                                     " < ",
                                     " <= ",
                                     " > ",
                                     " >= ",
                                     " == ",
                                     " != ",
                                     " and ",
                                     " or ",
                                     "not ",
                                     " if ",
                                     " else ",
                                     "-",
                                     "1",
                                     "0",
                                     "2.5",
                                     "1e-3",
                                     "2147483647",
                                     "cap",
                                     "win",
                                     "rel[h, kv_pos]",
                                     "doc[b, q_pos]",
                                     "flag[kv_pos]",
                                     "half[h]",
                                     "q_idx + (len_kv - len_q)",
                                     "\n",
                                     " "};
  for (llvm::StringRef name : expressionReservedNames())
    tokens.push_back(name.str());
  return tokens;
}
