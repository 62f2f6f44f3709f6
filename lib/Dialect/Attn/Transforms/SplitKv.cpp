// attn-split-kv: a decode whose config splits the keys becomes a partial decode and a merge.
#include "attnc/Dialect/Attn/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSPLITKV
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// f32 `type` with a leading dimension of splits.
static RankedTensorType partialType(RankedTensorType type) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, Float32Type::get(type.getContext()));
}

static void splitDecode(DecodeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto oType = cast<RankedTensorType>(op.getO().getType());
  auto lseType = RankedTensorType::get(oType.getShape().drop_back(), builder.getF32Type());
  // The sink enters the denominator once, in the merge.
  auto partial = DecodeOp::create(builder, loc, partialType(oType), partialType(lseType), op.getQ(),
                                  op.getK(), op.getV(), op.getKvLens(), op.getCuSeqlensQ(),
                                  op.getCuSeqlensKv(), op.getBlockTable(),
                                  /*sinks=*/Value(), op.getScaleAttr(), op.getLayoutAttr(),
                                  op.getPageSizeAttr(), op.getMasksAttr(), op.getScoresAttr(),
                                  op.getConfigAttr(), op.getMaxQAttr(), builder.getUnitAttr());
  partial->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), partial->getRegions()))
    to.takeBody(from);
  Type lse = op.getLse() ? op.getLse().getType() : Type();
  auto merge = CombineOp::create(builder, loc, oType, lse, partial.getO(), partial.getLse(),
                                 op.getSinks(), op.getLayoutAttr());
  op.replaceAllUsesWith(merge.getResults());
  op.erase();
}

namespace {
struct AttnSplitKv : attn::impl::AttnSplitKvBase<AttnSplitKv> {
  void runOnOperation() override {
    SmallVector<DecodeOp> ops;
    getOperation().walk([&](DecodeOp op) {
      if (!op.getPartial() && op.getConfigAttr() && op.getConfigAttr().getSplitKv())
        ops.push_back(op);
    });
    if (ops.empty())
      return markAllAnalysesPreserved();
    for (DecodeOp op : ops)
      splitDecode(op);
    numSplit += ops.size();
  }
};
} // namespace
