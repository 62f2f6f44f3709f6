// Spec to attn IR.
#include "SpecVariants.h"
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using llvm::StringRef;

namespace attnc {
namespace {

constexpr int64_t kAny = ShapedType::kDynamic;

class Exporter {
public:
  Exporter(const Spec &spec, MLIRContext *context) : spec(spec), builder(context) {}

  OwningOpRef<ModuleOp> run() {
    Location loc = location(spec.loc);
    if (!checkParts(loc))
      return nullptr;
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    createFunction(loc);
    createAttention(loc);
    if (failed(verify(*module)))
      return nullptr;
    return module;
  }

private:
  Location location(SpecLoc loc) {
    if (loc.line == 0)
      return builder.getUnknownLoc();
    return FileLineColLoc::get(builder.getContext(), spec.fileName, loc.line, loc.column);
  }

  /// What verifySpec cannot rule out: parts without a form here, and specs that were never checked.
  bool checkParts(Location loc) {
    for (const SpecFault &fault : verifySpec(spec)) {
      emitError(fault.loc.line ? location(fault.loc) : loc) << fault.message;
      return false;
    }
    bool opaque =
        llvm::any_of(spec.masks,
                     [](const SpecMask &m) { return m.kind == SpecMask::Kind::Opaque; }) ||
        llvm::any_of(spec.scores,
                     [](const SpecScore &s) { return s.kind == SpecScore::Kind::Opaque; });
    if (opaque)
      emitError(loc)
          << "the spec came from IR with a region that no expression says; compile that IR instead";
    return !opaque;
  }

  Type elementType(DType dtype) {
    switch (dtype) {
    case DType::F16:
      return builder.getF16Type();
    case DType::BF16:
      return builder.getBF16Type();
    case DType::I32:
      return builder.getI32Type();
    case DType::Bool: // one byte an element, so that neither host vectors nor GPU loads pack bits
      return builder.getI8Type();
    default:
      return builder.getF32Type();
    }
  }

  Type tensor(llvm::ArrayRef<int64_t> shape, DType dtype) {
    return RankedTensorType::get(shape, elementType(dtype));
  }

  void addArgument(StringRef name, Type type, Location loc) {
    argumentNames.push_back(name.str());
    argumentTypes.push_back(type);
    argumentLocs.push_back(loc);
  }

  void createFunction(Location loc) {
    int64_t rows = spec.isPaged() ? *spec.pageSize : kAny;
    addArgument("q", tensor({kAny, spec.headsQ, kAny, spec.dimQk}, spec.dtypeQ), loc);
    addArgument("k", tensor({kAny, spec.headsKv, rows, spec.dimQk}, spec.dtypeKv), loc);
    addArgument("v", tensor({kAny, spec.headsKv, rows, spec.dimV}, spec.dtypeKv), loc);
    if (spec.seq == SpecSeq::KvLens)
      addArgument("kv_lens", tensor({kAny}, DType::I32), loc);
    if (spec.seq == SpecSeq::Varlen) {
      addArgument("cu_seqlens_q", tensor({kAny}, DType::I32), loc);
      addArgument("cu_seqlens_kv", tensor({kAny}, DType::I32), loc);
    }
    if (spec.isPaged())
      addArgument("block_table", tensor({kAny, kAny}, DType::I32), loc);
    if (spec.sinks)
      addArgument("sinks", tensor({spec.headsQ}, DType::F32), loc);
    if (spec.bias)
      addArgument("bias", tensor({kAny, kAny, kAny, kAny}, *spec.bias), loc);
    for (const SpecArg &arg : spec.args) {
      llvm::SmallVector<int64_t> shape;
      for (int64_t extent : arg.shape)
        shape.push_back(extent < 0 ? kAny : extent);
      Type type = arg.isTensor() ? tensor(shape, arg.dtype) : elementType(arg.dtype);
      addArgument("arg." + arg.name, type, location(arg.loc));
    }

    llvm::SmallVector<Type> results = {tensor({kAny, spec.headsQ, kAny, spec.dimV}, spec.dtypeO)};
    if (spec.lse)
      results.push_back(tensor({kAny, spec.headsQ, kAny}, DType::F32));
    function = func::FuncOp::create(builder, loc, spec.symbolName(),
                                    builder.getFunctionType(argumentTypes, results));
    for (auto [index, name] : llvm::enumerate(argumentNames))
      function.setArgAttr(static_cast<unsigned>(index), "attn.name", builder.getStringAttr(name));
    function.setResultAttr(0, "attn.name", builder.getStringAttr("o"));
    if (spec.lse)
      function.setResultAttr(1, "attn.name", builder.getStringAttr("lse"));
    if (spec.symbolName() != spec.name)
      function->setAttr("attn.name", builder.getStringAttr(spec.name));
    if (spec.splitKv)
      function->setAttr("attn.split_kv", builder.getI64IntegerAttr(*spec.splitKv));

    Block *entry = builder.createBlock(&function.getBody(), {}, argumentTypes, argumentLocs);
    for (auto [index, name] : llvm::enumerate(argumentNames))
      arguments[name] = entry->getArgument(static_cast<unsigned>(index));
    for (const SpecArg &arg : spec.args)
      userArguments[arg.name] = arguments.lookup("arg." + arg.name);
  }

  /// Attributes where every part has one; null where there are none or a region is needed.
  ArrayAttr maskAttributes() {
    if (spec.masks.empty() ||
        !llvm::all_of(spec.masks, [](const SpecMask &m) { return hasAttribute(m); }))
      return nullptr;
    llvm::SmallVector<Attribute> attributes;
    MLIRContext *context = builder.getContext();
    for (const SpecMask &mask : spec.masks) {
      if (mask.kind == SpecMask::Kind::Window)
        attributes.push_back(attn::WindowAttr::get(context, mask.left, mask.right));
      else
        attributes.push_back(attn::CausalAttr::get(context, mask.kind == SpecMask::Kind::Causal
                                                                ? attn::Align::BottomRight
                                                                : attn::Align::TopLeft));
    }
    return builder.getArrayAttr(attributes);
  }

  ArrayAttr scoreAttributes() {
    if (spec.scores.empty() || spec.bias ||
        !llvm::all_of(spec.scores, [](const SpecScore &s) { return hasAttribute(s); }))
      return nullptr;
    llvm::SmallVector<Attribute> attributes;
    for (const SpecScore &score : spec.scores) {
      if (score.kind == SpecScore::Kind::Softcap)
        attributes.push_back(attn::SoftcapAttr::get(
            builder.getContext(), builder.getF32FloatAttr(static_cast<float>(score.cap))));
      else
        attributes.push_back(attn::AlibiAttr::get(builder.getContext(), spec.headsQ));
    }
    return builder.getArrayAttr(attributes);
  }

  void fillMask(Region &region) {
    OpBuilder::InsertionGuard guard(builder);
    Location loc = location(spec.masks.front().loc);
    Block *block = attn::createMaskBlock(builder, region, loc);
    builder.setInsertionPointToEnd(block);
    ExpressionEmitter emitter(builder, block, ExprRole::Mask, userArguments, spec.fileName);
    Value visible;
    for (const SpecMask &mask : spec.masks) {
      Value part = emitter.emit(*maskExpression(mask, spec)->root);
      visible =
          visible ? Value(arith::AndIOp::create(builder, location(mask.loc), visible, part)) : part;
    }
    attn::YieldOp::create(builder, loc, visible);
  }

  void fillScore(Region &region) {
    OpBuilder::InsertionGuard guard(builder);
    Location loc = spec.scores.empty() ? location(spec.loc) : location(spec.scores.front().loc);
    Block *block = attn::createScoreBlock(builder, region, loc);
    builder.setInsertionPointToEnd(block);
    ExpressionEmitter emitter(builder, block, ExprRole::Score, userArguments, spec.fileName);
    for (const SpecScore &score : spec.scores)
      emitter.setScore(emitter.emit(*scoreExpression(score, spec)->root));
    if (spec.bias) {
      // s + bias[b, h, q_idx, kv_pos]
      llvm::SmallVector<Value> indices;
      for (unsigned i = 1; i <= 4; ++i)
        indices.push_back(block->getArgument(i));
      Value bias = attn::LookupOp::create(builder, loc, elementType(*spec.bias),
                                          arguments.lookup("bias"), indices);
      if (*spec.bias != DType::F32)
        bias = arith::ExtFOp::create(builder, loc, builder.getF32Type(), bias);
      emitter.setScore(arith::AddFOp::create(builder, loc, emitter.getScore(), bias));
    }
    attn::YieldOp::create(builder, loc, emitter.getScore());
  }

  template <typename Op, typename... Extra>
  Op create(Location loc, ArrayAttr masks, ArrayAttr scores, Extra... extra) {
    auto layout = spec.layout == SpecLayout::BSHD ? attn::Layout::BSHD : attn::Layout::BHSD;
    FloatAttr scale;
    if (spec.scale)
      scale = builder.getF32FloatAttr(static_cast<float>(*spec.scale));
    IntegerAttr page;
    if (spec.pageSize)
      page = builder.getI64IntegerAttr(*spec.pageSize);
    return Op::create(builder, loc, function.getResultTypes(), arguments.lookup("q"),
                      arguments.lookup("k"), arguments.lookup("v"), arguments.lookup("kv_lens"),
                      arguments.lookup("cu_seqlens_q"), arguments.lookup("cu_seqlens_kv"),
                      arguments.lookup("block_table"), arguments.lookup("sinks"), scale, layout,
                      page, masks, scores, attn::ConfigAttr(), extra...);
  }

  template <typename Op> void fillRegions(Op op, ArrayAttr masks, ArrayAttr scores) {
    if (!masks && !spec.masks.empty())
      fillMask(op.getMask());
    if (!scores && (!spec.scores.empty() || spec.bias))
      fillScore(op.getScore());
  }

  void createAttention(Location loc) {
    builder.setInsertionPointToEnd(&function.getBody().front());
    ArrayAttr masks = maskAttributes(), scores = scoreAttributes();
    Operation *attention;
    if (spec.kind == SpecKind::Prefill) {
      auto op = create<attn::PrefillOp>(loc, masks, scores);
      fillRegions(op, masks, scores);
      attention = op;
    } else {
      auto op = create<attn::DecodeOp>(loc, masks, scores, static_cast<uint64_t>(spec.maxQ));
      fillRegions(op, masks, scores);
      attention = op;
    }
    func::ReturnOp::create(builder, loc, attention->getResults());
  }

  const Spec &spec;
  OpBuilder builder;
  func::FuncOp function;
  llvm::SmallVector<std::string> argumentNames;
  llvm::SmallVector<Type> argumentTypes;
  llvm::SmallVector<Location> argumentLocs;
  /// Every argument of the function by attn.name, and the user's by name in the spec.
  llvm::StringMap<Value> arguments, userArguments;
};

} // namespace

OwningOpRef<ModuleOp> buildModule(const Spec &spec, MLIRContext *context) {
  context
      ->loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect>();
  return Exporter(spec, context).run();
}

} // namespace attnc
