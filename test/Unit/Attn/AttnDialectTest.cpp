// The attn dialect used from C++: interface, region helpers, named masks, rewrites as functions.
#include "attnc/Dialect/Attn/Transforms.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
struct AttnDialectTest : ::testing::Test {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  AttnDialectTest() {
    context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect>();
  }

  AttentionOpInterface parse(const std::string &op) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%q: tensor<?x32x?x128xbf16>, %k: tensor<?x8x16x128xbf16>, "
        "%v: tensor<?x8x16x64xbf16>, %lens: tensor<?xi32>, %table: tensor<?x?xi32>) {\n" +
            op +
            " : tensor<?x32x?x128xbf16>, tensor<?x8x16x128xbf16>, tensor<?x8x16x64xbf16> -> "
            "tensor<?x32x?x64xbf16>\nreturn\n}",
        &context);
    EXPECT_TRUE(module);
    return *(*module->getOps<func::FuncOp>().begin()).getOps<AttentionOpInterface>().begin();
  }
};
} // namespace

TEST_F(AttnDialectTest, InterfaceOfDecode) {
  AttentionOpInterface op =
      parse("%o = attn.decode %q, %k, %v kv_lens(%lens : tensor<?xi32>) "
            "block_table(%table : tensor<?x?xi32>) {max_q = 4, page_size = 16}");
  EXPECT_EQ(op.getHeadsQ(), 32);
  EXPECT_EQ(op.getHeadsKv(), 8);
  EXPECT_EQ(op.getGroup(), 4);
  EXPECT_EQ(op.getDimQK(), 128);
  EXPECT_EQ(op.getDimV(), 64);
  EXPECT_EQ(op.getScaleValue(), 1.0 / std::sqrt(128.0));
  EXPECT_EQ(op.getQueryLimit(), 4);
  EXPECT_EQ(op.getPageSize(), 16u);
  EXPECT_TRUE(op.isPaged());
  EXPECT_FALSE(op.isVarlen());
  EXPECT_FALSE(op.isPartial());
  EXPECT_FALSE(op.getLse());
  EXPECT_FALSE(op.getSinks());
}

TEST_F(AttnDialectTest, InterfaceOfPrefill) {
  AttentionOpInterface op = parse("%o = attn.prefill %q, %k, %v {scale = 0.5 : f32}");
  EXPECT_EQ(op.getScaleValue(), 0.5);
  EXPECT_EQ(op.getQueryLimit(), std::nullopt);
  EXPECT_FALSE(op.getPageSize());
  EXPECT_EQ(op.getLayout(), Layout::BSHD);
  EXPECT_FALSE(op.isPaged());
}

TEST_F(AttnDialectTest, NamedMasksCombine) {
  auto combine = [&](const char *text) {
    return combineNamedMasks(cast<ArrayAttr>(parseAttribute(text, &context)));
  };
  EXPECT_FALSE(combineNamedMasks(nullptr).left);
  NamedMaskBounds bounds = combine("[#attn.window<5, 3>, #attn.window<-1, 9>]");
  EXPECT_EQ(bounds.left, 5);
  EXPECT_EQ(bounds.right, 3);
  EXPECT_FALSE(bounds.topLeft);
  bounds = combine("[#attn.causal<bottom_right>, #attn.window<-1, 9>, #attn.causal<top_left>]");
  EXPECT_FALSE(bounds.left);
  EXPECT_EQ(bounds.right, 0);
  EXPECT_TRUE(bounds.topLeft);
}

TEST_F(AttnDialectTest, RegionBlocksVerify) {
  AttentionOpInterface op = parse("%o = attn.prefill %q, %k, %v");
  OpBuilder builder(&context);
  Location loc = op.getLoc();
  Block *mask = createMaskBlock(builder, op.getMask(), loc);
  Block *score = createScoreBlock(builder, op.getScore(), loc);
  builder.setInsertionPointToEnd(mask);
  Value sees = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, mask->getArgument(3),
                                     mask->getArgument(2));
  YieldOp::create(builder, loc, sees);
  builder.setInsertionPointToEnd(score);
  YieldOp::create(builder, loc, score->getArgument(0));
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_TRUE(deriveKvBounds(op));
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_FALSE(deriveKvBounds(op)) << "bounds are there";
}

TEST_F(AttnDialectTest, ResolveVariantOnce) {
  AttentionOpInterface op =
      parse("%o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>], "
            "scores = [#attn.softcap<2.0 : f32>]}");
  EXPECT_TRUE(resolveVariant(op));
  EXPECT_FALSE(op.getMasksAttr());
  EXPECT_FALSE(op.getScoresAttr());
  EXPECT_FALSE(op.getMask().empty());
  EXPECT_FALSE(op.getScore().empty());
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_FALSE(resolveVariant(op));
}

TEST_F(AttnDialectTest, OpaqueConditionsAreCounted) {
  AttentionOpInterface op = parse("%o = attn.prefill %q, %k, %v");
  OpBuilder builder(&context);
  Location loc = op.getLoc();
  Block *mask = createMaskBlock(builder, op.getMask(), loc);
  builder.setInsertionPointToEnd(mask);
  Value table = op->getBlock()->getArgument(3);
  Value document =
      LookupOp::create(builder, loc, builder.getI32Type(), table, ValueRange{mask->getArgument(3)});
  Value same =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, document, mask->getArgument(0));
  YieldOp::create(builder, loc, same);
  unsigned numOpaque = 0;
  EXPECT_TRUE(deriveKvBounds(op, &numOpaque));
  EXPECT_EQ(numOpaque, 1u);
}
