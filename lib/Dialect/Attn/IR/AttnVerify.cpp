// Verifiers of the attn ops. Each check carries the id of its constraint in the op's description;
// the test that breaks it is named for it too (attn-prefill-C4).
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Checks of prefill and decode, in the order of their ids.
class AttentionVerifier {
public:
  explicit AttentionVerifier(AttentionOpInterface op)
      : op(op), q(op.getQ().getType()), k(op.getK().getType()), v(op.getV().getType()) {}

  LogicalResult verify() {
    return success(succeeded(checkTypes()) && succeeded(checkHeads()) && succeeded(checkShapes()) &&
                   succeeded(checkDims()) && succeeded(checkVarlen()) && succeeded(checkPaging()) &&
                   succeeded(checkSmallTensors()) && succeeded(checkSugar()) &&
                   succeeded(checkRegions()) && succeeded(checkScale()));
  }

private:
  static bool isComputeType(Type type) { return type.isF16() || type.isBF16() || type.isF32(); }

  LogicalResult checkTypes();
  LogicalResult checkHeads();
  LogicalResult checkShapes();
  LogicalResult checkDims();
  LogicalResult checkVarlen();
  LogicalResult checkPaging();
  LogicalResult checkSmallTensors();
  LogicalResult checkSugar();
  LogicalResult checkMask(Attribute mask);
  LogicalResult checkScore(Attribute score);
  LogicalResult checkRegions();
  LogicalResult checkRegion(Region &region, StringRef name, ArrayRef<Type> arguments,
                            ArrayRef<Type> results);
  LogicalResult checkScale();

  InFlightDiagnostic error() { return op->emitOpError(); }

  AttentionOpInterface op;
  RankedTensorType q, k, v;
};

} // namespace

/// A tensor of the given rank and element type.
static bool isTensor(Value value, int64_t rank, bool (*isElement)(Type)) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == rank && isElement(type.getElementType());
}
static bool isI32(Type type) { return type.isInteger(32); }
static bool isF32(Type type) { return type.isF32(); }

/// Whether two extents can be equal.
static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

LogicalResult AttentionVerifier::checkTypes() {
  // C1
  for (auto [name, type] : {std::pair<StringRef, RankedTensorType>{"q", q}, {"k", k}, {"v", v}}) {
    if (type.getRank() != 4)
      return error() << name << " has rank " << type.getRank()
                     << "; it must be [batch, head, seq, dim] (rank 4)";
    if (!isComputeType(type.getElementType()))
      return error() << name << " has element type " << type.getElementType()
                     << "; supported are f16, bf16 and f32";
  }
  if (k.getElementType() != v.getElementType())
    return error() << "k is " << k.getElementType() << " and v is " << v.getElementType()
                   << "; give both the same type";
  return success();
}

LogicalResult AttentionVerifier::checkHeads() {
  // C2
  for (auto [name, type] : {std::pair<StringRef, RankedTensorType>{"q", q}, {"k", k}, {"v", v}})
    for (auto [what, dim] : {std::pair<StringRef, unsigned>{"head count", 1}, {"head dim", 3}}) {
      int64_t extent = type.getDimSize(dim);
      if (ShapedType::isDynamic(extent) || extent <= 0)
        return error() << name << " has "
                       << (ShapedType::isDynamic(extent) ? std::string("a dynamic ")
                                                         : std::to_string(extent) + " as its ")
                       << what << "; it must be static and positive";
    }
  int64_t headsQ = q.getDimSize(1), headsKv = k.getDimSize(1);
  if (v.getDimSize(1) != headsKv)
    return error() << "k has " << headsKv << " heads and v " << v.getDimSize(1)
                   << "; they must agree";
  if (headsQ % headsKv != 0)
    return error() << headsQ << " query heads over " << headsKv
                   << " KV heads; the first must be a multiple of the second";
  return success();
}

LogicalResult AttentionVerifier::checkShapes() {
  // C3
  if (q.getDimSize(3) != k.getDimSize(3))
    return error() << "q has head dim " << q.getDimSize(3) << " and k " << k.getDimSize(3)
                   << "; they must agree";
  if (!agree(k.getDimSize(0), v.getDimSize(0)) || !agree(k.getDimSize(2), v.getDimSize(2)))
    return error() << "k is " << k << " and v " << v << "; they may differ in the head dim only";
  if (!op.isPaged() && !agree(q.getDimSize(0), k.getDimSize(0)))
    return error() << "q has batch " << q.getDimSize(0) << " and k " << k.getDimSize(0)
                   << "; they must agree";
  // What a partial result looks like is C12.
  if (op.isPartial())
    return success();
  auto o = cast<RankedTensorType>(op.getO().getType());
  SmallVector<int64_t> expected(q.getShape());
  if (o.getRank() == 4)
    expected[3] = v.getDimSize(3);
  if (o.getRank() != 4 || o.getDimSize(1) != expected[1] || o.getDimSize(3) != expected[3] ||
      !agree(o.getDimSize(0), expected[0]) || !agree(o.getDimSize(2), expected[2]) ||
      !isComputeType(o.getElementType()))
    return error() << "o is " << o << "; it must be an f16, bf16 or f32 tensor of q's shape with "
                   << v.getDimSize(3) << " (v's head dim) as the last extent";
  if (!op.getLse())
    return success();
  auto lse = cast<RankedTensorType>(op.getLse().getType());
  if (lse.getRank() != 3 || !lse.getElementType().isF32() || lse.getDimSize(1) != q.getDimSize(1) ||
      !agree(lse.getDimSize(0), q.getDimSize(0)) || !agree(lse.getDimSize(2), q.getDimSize(2)))
    return error() << "lse is " << lse << "; it must be f32 [batch, " << q.getDimSize(1)
                   << " query heads, seq]";
  return success();
}

LogicalResult AttentionVerifier::checkDims() {
  // C4
  for (int64_t dim : {q.getDimSize(3), v.getDimSize(3)})
    if (dim % 8 != 0 || dim > 576)
      return error() << "head dim " << dim
                     << " is not supported; it must be a multiple of 8 and at most 576";
  return success();
}

LogicalResult AttentionVerifier::checkVarlen() {
  // C5
  Value cuQ = op.getCuSeqlensQ(), cuKv = op.getCuSeqlensKv();
  if (!cuQ != !cuKv)
    return error() << (cuQ ? "cu_seqlens_q" : "cu_seqlens_kv") << " is given without "
                   << (cuQ ? "cu_seqlens_kv" : "cu_seqlens_q") << "; give both or neither";
  if (!cuQ)
    return success();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"cu_seqlens_q", cuQ}, {"cu_seqlens_kv", cuKv}})
    if (!isTensor(value, 1, isI32))
      return error() << name << " is " << value.getType() << "; it must be a rank-1 i32 tensor";
  if (op.getKvLens())
    return error() << "kv_lens and cu_seqlens are both given; cu_seqlens_kv already says how long "
                      "each sequence is: drop one";
  return success();
}

LogicalResult AttentionVerifier::checkPaging() {
  // C6
  Value table = op.getBlockTable();
  std::optional<uint64_t> pageSize = op.getPageSize();
  if (!table) {
    if (pageSize)
      return error() << "page_size is given without block_table; give both or neither";
    return success();
  }
  if (!isTensor(table, 2, isI32))
    return error() << "block_table is " << table.getType() << "; it must be a rank-2 i32 tensor";
  if (!pageSize)
    return error() << "block_table is given without page_size; give both or neither";
  auto page = static_cast<int64_t>(*pageSize);
  if (page < 1)
    return error() << "page_size is " << page << "; it must be at least 1";
  if (!op.getKvLens())
    return error() << "block_table is given without kv_lens; pages alone do not say how many keys "
                      "a sequence has: give kv_lens";
  if (!agree(k.getDimSize(2), page))
    return error() << "pages of the pool hold " << k.getDimSize(2) << " tokens and page_size is "
                   << page << "; they must agree";
  return success();
}

LogicalResult AttentionVerifier::checkSmallTensors() {
  // C7
  if (Value lens = op.getKvLens(); lens && !isTensor(lens, 1, isI32))
    return error() << "kv_lens is " << lens.getType() << "; it must be a rank-1 i32 tensor";
  if (Value sinks = op.getSinks())
    if (!isTensor(sinks, 1, isF32) ||
        !agree(cast<RankedTensorType>(sinks.getType()).getDimSize(0), q.getDimSize(1)))
      return error() << "sinks is " << sinks.getType() << "; it must be tensor<" << q.getDimSize(1)
                     << "xf32>, a logit a query head";
  return success();
}

LogicalResult AttentionVerifier::checkMask(Attribute mask) {
  if (isa<CausalAttr>(mask))
    return success();
  auto window = dyn_cast<WindowAttr>(mask);
  if (!window)
    return error() << "masks holds " << mask << "; named masks are #attn.causal and #attn.window";
  // So that a position plus a bound fits i32.
  constexpr int64_t limit = int64_t(1) << 30;
  if (window.getLeft() >= limit || window.getRight() >= limit)
    return error() << "window bound " << std::max(window.getLeft(), window.getRight())
                   << " is too large; bounds must be below " << limit
                   << " (a negative one means unbounded)";
  return success();
}

LogicalResult AttentionVerifier::checkScore(Attribute score) {
  if (auto softcap = dyn_cast<SoftcapAttr>(score)) {
    double cap = softcap.getCap().getValueAsDouble();
    if (!std::isfinite(cap) || cap <= 0)
      return error() << "softcap is " << softcap.getCap() << "; it must be finite and positive";
    return success();
  }
  auto alibi = dyn_cast<AlibiAttr>(score);
  if (!alibi)
    return error() << "scores holds " << score
                   << "; named scores are #attn.softcap and #attn.alibi";
  if (alibi.getHeads() < q.getDimSize(1) || alibi.getHeads() >= int64_t(1) << 20)
    return error() << "alibi has slopes for " << alibi.getHeads() << " heads; there are "
                   << q.getDimSize(1) << " query heads and slopes must cover them";
  return success();
}

LogicalResult AttentionVerifier::checkSugar() {
  // C8
  if (ArrayAttr masks = op.getMasksAttr()) {
    if (!op.getMask().empty())
      return error() << "has both named masks and a mask region; say everything in one of them";
    for (Attribute mask : masks)
      if (failed(checkMask(mask)))
        return failure();
  }
  if (ArrayAttr scores = op.getScoresAttr()) {
    if (!op.getScore().empty())
      return error() << "has both named scores and a score region; say everything in one of them";
    for (Attribute score : scores)
      if (failed(checkScore(score)))
        return failure();
  }
  return success();
}

LogicalResult AttentionVerifier::checkRegion(Region &region, StringRef name,
                                             ArrayRef<Type> arguments, ArrayRef<Type> results) {
  if (region.empty())
    return success();
  if (!region.hasOneBlock())
    return error() << "the " << name << " region has " << region.getBlocks().size()
                   << " blocks; it must have one";
  Block &block = region.front();
  if (!llvm::equal(block.getArgumentTypes(), arguments))
    return error() << "the " << name << " region has arguments (" << block.getArgumentTypes()
                   << "); they must be (" << arguments << ")";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return error() << "the " << name << " region does not end with attn.yield";
  if (!llvm::equal(yield.getOperandTypes(), results)) {
    InFlightDiagnostic diagnostic = error();
    diagnostic << "the " << name << " region yields (" << yield.getOperandTypes()
               << "); it must yield (" << results << ")";
    diagnostic.attachNote(yield.getLoc()) << "yielded here";
    return diagnostic;
  }
  return success();
}

LogicalResult AttentionVerifier::checkRegions() {
  // C9
  Builder b(op.getContext());
  SmallVector<Type> mask(kMaskArgs, b.getI32Type()), bounds(kBoundsArgs, b.getI32Type()),
      score(kScoreArgs, b.getI32Type()), ranges(kBoundsResults, b.getI32Type());
  score.front() = b.getF32Type();
  return success(succeeded(checkRegion(op.getMask(), "mask", mask, {b.getI1Type()})) &&
                 succeeded(checkRegion(op.getScore(), "score", score, {b.getF32Type()})) &&
                 succeeded(checkRegion(op.getBounds(), "bounds", bounds, ranges)));
}

LogicalResult AttentionVerifier::checkScale() {
  // C10
  FloatAttr scale = op.getScaleAttr();
  if (!scale)
    return success();
  double value = scale.getValueAsDouble();
  if (!std::isfinite(value) || value <= 0)
    return error() << "scale is " << scale << "; it must be finite and positive";
  return success();
}

LogicalResult PrefillOp::verify() {
  return AttentionVerifier(cast<AttentionOpInterface>(getOperation())).verify();
}

/// C12: a partial o or lse is what the whole one is, in f32, with splits before it.
static bool isPartialOf(RankedTensorType partial, ArrayRef<int64_t> whole) {
  if (!partial.getElementType().isF32() ||
      partial.getRank() != static_cast<int64_t>(whole.size()) + 1)
    return false;
  return llvm::all_of_zip(partial.getShape().drop_front(), whole, agree);
}

LogicalResult DecodeOp::verify() {
  if (failed(AttentionVerifier(cast<AttentionOpInterface>(getOperation())).verify()))
    return failure();
  // C11
  auto maxQ = static_cast<int64_t>(getMaxQ());
  if (maxQ < 1 || maxQ > 64)
    return emitOpError() << "max_q is " << maxQ
                         << "; it must be 1 to 64 (use attn.prefill for longer queries)";
  // C12
  if (!getPartial())
    return success();
  if (getSinks())
    return emitOpError() << "is partial and has sinks; a sink counts once per row: give it to the "
                            "attn.combine";
  SmallVector<int64_t> shape(getQ().getType().getShape());
  shape[3] = getV().getType().getDimSize(3);
  if (!isPartialOf(cast<RankedTensorType>(getO().getType()), shape))
    return emitOpError() << "is partial and o is " << getO().getType()
                         << "; it must be f32 [splits, batch, head, seq, dim]";
  if (!getLse())
    return emitOpError() << "is partial and has no lse; attn.combine needs it";
  if (!isPartialOf(cast<RankedTensorType>(getLse().getType()), ArrayRef(shape).drop_back()))
    return emitOpError() << "is partial and lse is " << getLse().getType()
                         << "; it must be f32 [splits, batch, head, seq]";
  return success();
}

LogicalResult CombineOp::verify() {
  // C1
  RankedTensorType oParts = getOParts().getType(), lseParts = getLseParts().getType();
  if (oParts.getRank() != 5 || !oParts.getElementType().isF32())
    return emitOpError() << "o_parts is " << oParts
                         << "; it must be f32 [splits, batch, head, seq, dim]";
  if (!lseParts.getElementType().isF32() || lseParts.getRank() != 4 ||
      !llvm::all_of_zip(lseParts.getShape(), oParts.getShape().drop_back(), agree))
    return emitOpError() << "lse_parts is " << lseParts
                         << "; it must be f32 [splits, batch, head, seq] as in o_parts";
  // C2
  ArrayRef<int64_t> whole = oParts.getShape().drop_front();
  auto o = cast<RankedTensorType>(getO().getType());
  if (o.getRank() != 4 || !isa<FloatType>(o.getElementType()) ||
      !llvm::all_of_zip(o.getShape(), whole, agree))
    return emitOpError() << "o is " << o
                         << "; it must be a float tensor [batch, head, seq, dim] as "
                            "in o_parts";
  if (getLse()) {
    auto lse = cast<RankedTensorType>(getLse().getType());
    if (lse.getRank() != 3 || !lse.getElementType().isF32() ||
        !llvm::all_of_zip(lse.getShape(), whole.drop_back(), agree))
      return emitOpError() << "lse is " << lse << "; it must be f32 [batch, head, seq]";
  }
  if (Value sinks = getSinks())
    if (!isTensor(sinks, 1, isF32) ||
        !agree(cast<RankedTensorType>(sinks.getType()).getDimSize(0), whole[1]))
      return emitOpError() << "sinks is " << sinks.getType()
                           << "; it must be f32 with a logit a head";
  return success();
}

LogicalResult LookupOp::verify() {
  // C1
  RankedTensorType tensor = getTensor().getType();
  if (static_cast<int64_t>(getIndices().size()) != tensor.getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for a tensor of rank "
                         << tensor.getRank() << "; give one a dimension";
  if (getValue().getType() != tensor.getElementType())
    return emitOpError() << "gives " << getValue().getType() << " but the tensor holds "
                         << tensor.getElementType();
  return success();
}
