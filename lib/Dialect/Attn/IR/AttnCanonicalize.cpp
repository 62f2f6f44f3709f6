// Canonicalisations of prefill and decode: one spelling for each set of named masks, and no region
// that says nothing.
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Puts named masks together: [causal<bottom_right>], [causal<top_left>], [window], each at most
/// once. A bottom-right causal mask is the right bound 0, and is spelled causal.
template <typename Op> struct MergeNamedMasks : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    ArrayAttr masks = op.getMasksAttr();
    if (!masks)
      return rewriter.notifyMatchFailure(op, "no named masks");
    MLIRContext *context = rewriter.getContext();
    NamedMaskBounds bounds = combineNamedMasks(masks);
    SmallVector<Attribute> merged;
    bool isCausal = bounds.right == 0;
    if (isCausal)
      merged.push_back(CausalAttr::get(context, Align::BottomRight));
    if (bounds.topLeft)
      merged.push_back(CausalAttr::get(context, Align::TopLeft));
    if (bounds.left || (bounds.right && !isCausal))
      merged.push_back(WindowAttr::get(context, bounds.left.value_or(-1),
                                       isCausal ? -1 : bounds.right.value_or(-1)));
    ArrayAttr attr = merged.empty() ? ArrayAttr() : rewriter.getArrayAttr(merged);
    if (attr == masks)
      return rewriter.notifyMatchFailure(op, "named masks are canonical");
    rewriter.modifyOpInPlace(op, [&] {
      if (attr)
        op.setMasksAttr(attr);
      else
        op.removeMasksAttr();
    });
    return success();
  }
};

/// An empty list of scores is none.
template <typename Op> struct DropEmptyScores : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getScoresAttr() || !op.getScoresAttr().empty())
      return rewriter.notifyMatchFailure(op, "no empty list of scores");
    rewriter.modifyOpInPlace(op, [&] { op.removeScoresAttr(); });
    return success();
  }
};

/// A mask region that is constantly true hides nothing. Bounds derived from it stay right.
template <typename Op> struct DropTrueMask : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (op.getMask().empty())
      return rewriter.notifyMatchFailure(op, "no mask region");
    if (!matchPattern(op.getMask().front().getTerminator()->getOperand(0), m_One()))
      return rewriter.notifyMatchFailure(op, "the mask is not constantly true");
    rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&op.getMask().front()); });
    return success();
  }
};

/// A score region that yields the logit is the identity, for which the scale can be folded into the
/// softmax.
template <typename Op> struct DropIdentityScore : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (op.getScore().empty())
      return rewriter.notifyMatchFailure(op, "no score region");
    Block &block = op.getScore().front();
    if (block.getTerminator()->getOperand(0) != block.getArgument(0))
      return rewriter.notifyMatchFailure(op, "the score is not the identity");
    rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&block); });
    return success();
  }
};

} // namespace

template <typename Op> static void addPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeNamedMasks<Op>, DropEmptyScores<Op>, DropTrueMask<Op>, DropIdentityScore<Op>>(
      context);
}

void PrefillOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  addPatterns<PrefillOp>(patterns, context);
}

void DecodeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  addPatterns<DecodeOp>(patterns, context);
}
