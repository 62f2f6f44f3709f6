// attn IR to Spec.
#include "SpecVariants.h"
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using llvm::StringRef;

namespace attnc {
namespace {

class SpecImporter {
public:
  std::optional<Spec> run(ModuleOp module) {
    unsigned count = 0;
    module.walk([&](attn::AttentionOpInterface op) {
      ++count;
      attention = op;
    });
    if (count != 1)
      return fail(module.getLoc(),
                  "the module holds " + std::to_string(count) +
                      " attention ops (attn.prefill, attn.decode); a spec is exactly one");
    function = attention->getParentOfType<func::FuncOp>();
    if (!function || attention->getParentOp() != function)
      return fail(attention->getLoc(), "the attention op must be in the body of a func.func");
    if (attention.isPartial())
      return fail(attention->getLoc(),
                  "the attention op gives partial results; a spec describes it before "
                  "attn-split-kv");
    if (auto loc = dyn_cast<FileLineColLoc>(attention->getLoc())) {
      spec.fileName = loc.getFilename().str();
      spec.loc = {loc.getLine(), loc.getColumn()};
    }
    bool ok = readFunction() && readShape() && readAttributes() && readMask() && readScore();
    if (!ok)
      return std::nullopt;
    for (const SpecFault &fault : verifySpec(spec)) {
      attention->emitError() << fault.message;
      ok = false;
    }
    return ok ? std::optional<Spec>(std::move(spec)) : std::nullopt;
  }

private:
  std::nullopt_t fail(Location loc, const std::string &message) {
    emitError(loc) << message;
    return std::nullopt;
  }
  bool failOp(const std::string &message) {
    attention->emitError() << message;
    return false;
  }

  bool dtypeOf(Type type, StringRef what, DType &out) {
    if (type.isF16())
      out = DType::F16;
    else if (type.isBF16())
      out = DType::BF16;
    else if (type.isF32())
      out = DType::F32;
    else if (type.isInteger(32))
      out = DType::I32;
    else if (type.isInteger(8))
      out = DType::Bool;
    else
      return attention->emitError() << what << " has the element type " << type
                                    << "; allowed are f16, bf16, f32, i32 and i8",
             false;
    return true;
  }

  /// Names and types of the function's arguments; every value used must be one of them.
  bool readFunction() {
    spec.name = function.getSymName().str();
    if (auto name = function->getAttrOfType<StringAttr>("attn.name"))
      spec.name = name.str();
    if (auto split = function->getAttrOfType<IntegerAttr>("attn.split_kv"))
      spec.splitKv = split.getInt();
    for (BlockArgument argument : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "attn.name");
      if (!name)
        return failOp(
            "argument " + std::to_string(argument.getArgNumber()) +
            " of the function has no attn.name; give it one of q, k, v, kv_lens, cu_seqlens_q, "
            "cu_seqlens_kv, block_table, sinks, bias or arg.NAME");
      StringRef text = name.getValue();
      argumentNames[argument] = text;
      if (!text.consume_front("arg."))
        continue;
      SpecArg arg;
      arg.name = text.str();
      if (auto loc = dyn_cast<FileLineColLoc>(argument.getLoc()))
        arg.loc = {loc.getLine(), loc.getColumn()};
      Type type = argument.getType();
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        for (int64_t extent : tensor.getShape())
          arg.shape.push_back(ShapedType::isDynamic(extent) ? -1 : extent);
        type = tensor.getElementType();
        if (arg.shape.empty())
          return failOp("argument '" + arg.name + "' is a tensor of rank 0; pass it as a scalar");
      }
      if (!dtypeOf(type, "argument '" + arg.name + "'", arg.dtype))
        return false;
      spec.args.push_back(std::move(arg));
    }
    return true;
  }

  bool readShape() {
    spec.kind =
        isa<attn::DecodeOp>(attention.getOperation()) ? SpecKind::Decode : SpecKind::Prefill;
    if (std::optional<int64_t> limit = attention.getQueryLimit())
      spec.maxQ = *limit;
    auto o = dyn_cast<RankedTensorType>(attention.getO().getType());
    for (RankedTensorType type :
         {attention.getQ().getType(), attention.getK().getType(), attention.getV().getType(), o}) {
      if (!type || type.getRank() != 4 || type.isDynamicDim(1) || type.isDynamicDim(3))
        return failOp(
            "q, k, v and o must have rank 4 with static heads (dimension 1) and dim (dimension 3)");
    }
    spec.headsQ = attention.getHeadsQ();
    spec.headsKv = attention.getHeadsKv();
    spec.dimQk = attention.getDimQK();
    spec.dimV = attention.getDimV();
    return dtypeOf(attention.getQ().getType().getElementType(), "q", spec.dtypeQ) &&
           dtypeOf(attention.getK().getType().getElementType(), "k", spec.dtypeKv) &&
           dtypeOf(o.getElementType(), "o", spec.dtypeO);
  }

  bool readAttributes() {
    spec.layout = attention.getLayout() == attn::Layout::BSHD ? SpecLayout::BSHD : SpecLayout::BHSD;
    if (attention.getKvLens())
      spec.seq = SpecSeq::KvLens;
    if (attention.isVarlen())
      spec.seq = SpecSeq::Varlen;
    if (std::optional<uint64_t> page = attention.getPageSize())
      spec.pageSize = static_cast<int64_t>(*page);
    spec.sinks = static_cast<bool>(attention.getSinks());
    spec.lse = static_cast<bool>(attention.getLse());
    if (FloatAttr scale = attention.getScaleAttr())
      spec.scale = scale.getValueAsDouble();
    return true;
  }

  StringRef userName(Value value) const {
    StringRef name = argumentNames.lookup(value);
    return name.consume_front("arg.") ? name : StringRef();
  }

  std::string regionText(Region &region) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    flags.useLocalScope();
    for (Operation &op : region.getOps()) {
      op.print(stream, flags);
      stream << '\n';
    }
    return text;
  }

  bool readMask() {
    if (ArrayAttr masks = attention.getMasksAttr()) {
      for (Attribute attribute : masks) {
        SpecMask mask;
        mask.loc = spec.loc;
        if (auto window = dyn_cast<attn::WindowAttr>(attribute)) {
          mask.kind = SpecMask::Kind::Window;
          mask.left = std::max<int64_t>(window.getLeft(), -1);
          mask.right = std::max<int64_t>(window.getRight(), -1);
        } else if (auto causal = dyn_cast<attn::CausalAttr>(attribute)) {
          mask.kind = causal.getAlign() == attn::Align::BottomRight ? SpecMask::Kind::Causal
                                                                    : SpecMask::Kind::CausalTopLeft;
        } else {
          attention->emitError() << "masks holds " << attribute << ", which is not a named mask";
          return false;
        }
        spec.masks.push_back(std::move(mask));
      }
    }
    Region &region = attention.getMask();
    if (region.empty())
      return true;
    SpecMask mask;
    mask.loc = spec.loc;
    mask.kind = SpecMask::Kind::Expression;
    std::string why;
    mask.expression =
        importExpression(region, ExprRole::Mask, [&](Value v) { return userName(v); }, why);
    if (mask.expression) {
      recognise(mask);
    } else {
      mask.kind = SpecMask::Kind::Opaque;
      mask.text = "// " + why + "\n" + regionText(region);
    }
    spec.masks.push_back(std::move(mask));
    return true;
  }

  /// A mask that is exactly the meaning of a name becomes that name.
  void recognise(SpecMask &mask) {
    llvm::SmallVector<SpecMask> candidates(2);
    candidates[0].kind = SpecMask::Kind::PrefixLm;
    candidates[1].kind = SpecMask::Kind::Document;
    for (SpecMask &candidate : candidates) {
      for (const SpecArg &arg : spec.args) {
        size_t rank = arg.shape.size();
        bool fits = arg.dtype == DType::I32 &&
                    (candidate.kind == SpecMask::Kind::PrefixLm ? rank <= 1 : rank == 2);
        if (!fits)
          continue;
        candidate.arg = arg.name;
        candidate.loc = mask.loc;
        if (maskExpression(candidate, spec)->text == mask.expression->text) {
          SpecMask named = candidate;
          mask = std::move(named);
          return;
        }
      }
    }
  }

  /// The x of x + bias[b, h, q, kv], where bias is the function's argument of that name.
  Value stripBias(Region &region, DType &dtype) {
    Block &block = region.front();
    auto add = block.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
    if (!add)
      return nullptr;
    Value value = add.getRhs();
    if (auto extend = value.getDefiningOp<arith::ExtFOp>())
      value = extend.getIn();
    auto lookup = value.getDefiningOp<attn::LookupOp>();
    if (!lookup || argumentNames.lookup(lookup.getTensor()) != "bias" ||
        lookup.getIndices().size() != 4)
      return nullptr;
    for (auto [index, operand] : llvm::enumerate(lookup.getIndices()))
      if (operand != block.getArgument(static_cast<unsigned>(index) + 1))
        return nullptr;
    return dtypeOf(value.getType(), "bias", dtype) ? add.getLhs() : nullptr;
  }

  bool readScore() {
    if (ArrayAttr scores = attention.getScoresAttr()) {
      for (Attribute attribute : scores) {
        SpecScore score;
        score.loc = spec.loc;
        if (auto softcap = dyn_cast<attn::SoftcapAttr>(attribute)) {
          score.kind = SpecScore::Kind::Softcap;
          score.cap = static_cast<float>(softcap.getCap().getValueAsDouble());
        } else if (auto alibi = dyn_cast<attn::AlibiAttr>(attribute)) {
          score.kind = SpecScore::Kind::Alibi;
          if (alibi.getHeads() != spec.headsQ)
            return failOp("alibi has the slopes of " + std::to_string(alibi.getHeads()) +
                          " heads, q has " + std::to_string(spec.headsQ) +
                          "; a spec's alibi has those of its own heads");
        } else {
          attention->emitError() << "scores holds " << attribute << ", which is not a named score";
          return false;
        }
        spec.scores.push_back(std::move(score));
      }
    }
    Region &region = attention.getScore();
    if (region.empty())
      return true;
    if (!region.hasOneBlock() || region.front().getNumArguments() != attn::kScoreArgs ||
        region.front().getTerminator()->getNumOperands() != 1)
      return failOp("the score region must be one block of " + std::to_string(attn::kScoreArgs) +
                    " arguments that yields one value");
    DType biasType;
    Value root = stripBias(region, biasType);
    if (root)
      spec.bias = biasType;
    if (root == region.getArgument(0))
      return true; // nothing but the bias
    SpecScore score;
    score.loc = spec.loc;
    score.kind = SpecScore::Kind::Expression;
    std::string why;
    score.expression =
        importExpression(region, ExprRole::Score, [&](Value v) { return userName(v); }, why, root);
    if (score.expression) {
      recognise(score);
    } else {
      score.kind = SpecScore::Kind::Opaque;
      score.text = "// " + why + "\n" + regionText(region);
    }
    spec.scores.push_back(std::move(score));
    return true;
  }

  void recognise(SpecScore &score) {
    for (const SpecArg &arg : spec.args) {
      if (arg.dtype != DType::F32 || arg.shape.size() != 1)
        continue;
      SpecScore named;
      named.kind = SpecScore::Kind::AlibiSlopes;
      named.arg = arg.name;
      named.loc = score.loc;
      if (scoreExpression(named, spec)->text == score.expression->text) {
        score = std::move(named);
        return;
      }
    }
  }

  attn::AttentionOpInterface attention;
  func::FuncOp function;
  llvm::DenseMap<Value, StringRef> argumentNames;
  Spec spec;
};

} // namespace

std::optional<Spec> specFromModule(ModuleOp module) { return SpecImporter().run(module); }

} // namespace attnc
