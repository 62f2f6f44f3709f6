// Spec to attn IR and back.
#include "SpecTesting.h"

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Spec/Expression.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::testing;

namespace {

std::string print(mlir::ModuleOp module, bool locations = false) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  module.print(stream, flags);
  return text;
}

/// Canonical text of the spec read back from the IR that `text` becomes; empty after an error.
std::string throughModule(const std::string &text) {
  Parsed parsed = parse(text);
  EXPECT_TRUE(parsed.spec) << parsed.diagnostics;
  if (!parsed.spec)
    return "";
  mlir::MLIRContext context;
  auto module = buildModule(*parsed.spec, &context);
  EXPECT_TRUE(module);
  if (!module)
    return "";
  // What a file of it says is what the memory holds.
  auto reread = mlir::parseSourceString<mlir::ModuleOp>(print(*module), &context);
  EXPECT_TRUE(reread);
  std::optional<Spec> back = reread ? specFromModule(*reread) : std::nullopt;
  EXPECT_TRUE(back);
  return back ? printSpec(*back) : "";
}

void expectRoundTrip(const std::string &text) {
  Parsed parsed = parse(text);
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  EXPECT_EQ(throughModule(text), printSpec(*parsed.spec));
}

std::string moduleText(const std::string &text, bool locations = false) {
  Parsed parsed = parse(text);
  EXPECT_TRUE(parsed.spec) << parsed.diagnostics;
  mlir::MLIRContext context;
  auto module = parsed.spec ? buildModule(*parsed.spec, &context) : nullptr;
  EXPECT_TRUE(module);
  return module ? print(*module, locations) : "";
}

TEST(SpecModule, NamedPartsAreAttributes) {
  std::string text = moduleText(prefillWith(
      "mask: [causal, {window: [7, 0]}]\nscore: [{softcap: 50.0}, alibi]\nout: [o, lse]\n"));
  EXPECT_NE(text.find("masks = [#attn.causal<bottom_right>, #attn.window<7, 0>]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("#attn.softcap<5.000000e+01 : f32>, #attn.alibi<8>"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("^bb0"), std::string::npos) << "no region expected: " << text;
  EXPECT_NE(text.find("%arg0: tensor<?x8x?x64xbf16> {attn.name = \"q\"}"), std::string::npos)
      << text;
}

TEST(SpecModule, PagedDecodeHasItsOperands) {
  std::string text = moduleText(decodeWith(
      "seq: {q: 1..8, kv: lens}\nkv: paged(page=16)\nsinks: true\nbias: f16\nsplit_kv: 4\n"));
  for (const char *piece :
       {"tensor<?x2x16x64xbf16> {attn.name = \"k\"}", "tensor<?xi32> {attn.name = \"kv_lens\"}",
        "tensor<?x?xi32> {attn.name = \"block_table\"}", "tensor<8xf32> {attn.name = \"sinks\"}",
        "tensor<?x?x?x?xf16> {attn.name = \"bias\"}", "attn.decode", "max_q = 8 : i64",
        "page_size = 16 : i64", "attn.split_kv = 4 : i64"})
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
}

TEST(SpecModule, NamesWithDashesAreKept) {
  std::string text = "attn: 1\nname: llama3-8b\nkind: prefill\nheads: 8\ndim: 64\ndtype: f16\n";
  EXPECT_NE(moduleText(text).find("@llama3_8b("), std::string::npos);
  expectRoundTrip(text);
}

TEST(SpecModule, RoundTripsOfNamedParts) {
  expectRoundTrip(prefillWith(""));
  expectRoundTrip(
      prefillWith("mask: causal\nout: [o, lse]\nlayout: bhsd\nscale: 0.0625\nsinks: true\n"));
  expectRoundTrip(prefillWith(
      "mask: [causal, causal_top_left, {window: [-1, 4]}]\nscore: [{softcap: 30.5}, alibi]\n"));
  expectRoundTrip(prefillWith("seq: {varlen: cu_seqlens}\nbias: bf16\n"));
  expectRoundTrip(prefillWith("args: {n: i32}\nmask: {prefix_lm: n}\n"));
  expectRoundTrip(prefillWith("args: {n: \"i32[?]\"}\nmask: {prefix_lm: n}\n"));
  expectRoundTrip(prefillWith("args: {doc: \"i32[?, ?]\"}\nmask: {document: doc}\n"));
  expectRoundTrip(prefillWith("args: {slopes: \"f32[8]\"}\nscore: {alibi: slopes}\n"));
  expectRoundTrip(decodeWith("seq: {q: 1..4, kv: lens}\nkv: paged(page=24)\nsplit_kv: 8\n"));
  expectRoundTrip("attn: 1\nname: t\nkind: prefill\nheads: 4\ndim: {qk: 192, v: 128}\ndtype: {q: "
                  "f16, kv: f16, o: f32}\n");
}

TEST(SpecModule, RoundTripsOfExpressions) {
  const char *args = "args:\n  cap: f32\n  win: i32\n  rel: f32[8, ?]\n  half: bf16[?]\n  flag: "
                     "bool[?]\n  ids: i32[?]\n";
  for (const char *mask :
       {"q_pos >= kv_pos and q_pos - kv_pos < win", "kv_pos % 4 == 0 or kv_pos // win > q_idx",
        "not flag[kv_pos]", "ids[q_idx] != ids[kv_pos] if b == 0 else h < 4", "true",
        "(b == 0) == (h == 0)", "abs(q_pos - kv_pos) <= max(win, 3)",
        "-kv_pos < -3 and len_q <= len_kv", "int(cap) < kv_pos", "float(kv_pos) < cap",
        "cap != 1.5 and cap == cap"})
    expectRoundTrip(prefillWith(std::string(args) + "mask: \"" + mask + "\"\n"));
  for (const char *score :
       {"cap * tanh(s / cap)", "s + rel[h, kv_pos - q_pos + win]", "s * half[h]",
        "s - exp2(-8.0 * (h + 1) / 8.0) * (q_pos - kv_pos)", "s if kv_pos < win else s + 1.0",
        "min(s, cap, 3.0) + max(s, -1.0)", "s // 2.0 + s % 3.0",
        "exp(s) + log(abs(s)) + log2(sqrt(s))", "floor(s) + float(kv_pos > 3) + int(s)", "-s",
        "s / -2.0", "h", "s + kv_pos // 7 + kv_pos % 5"})
    expectRoundTrip(prefillWith(std::string(args) + "score: \"" + score + "\"\n"));
}

// What parses never comes back opaque, at the very limit of nesting either.
TEST(SpecModule, RoundTripOfTheDeepestExpression) {
  expectRoundTrip(
      prefillWith("args: {half: \"bf16[?]\"}\nscore: \"half[" + std::string(126, '-') + "h]\"\n"));
  // f32 // is two ops of IR each.
  std::string chain = "s";
  for (int i = 0; i < 120; ++i)
    chain += " // 2.0";
  expectRoundTrip(prefillWith("score: \"" + chain + "\"\n"));
}

// A bias rides on whatever the score is.
TEST(SpecModule, BiasIsRecognised) {
  expectRoundTrip(prefillWith("bias: f32\n"));
  expectRoundTrip(prefillWith("score: \"s * 2.0\"\nbias: f16\n"));
}

// Names beside expressions are expanded; the meaning is kept, the list becomes one expression.
TEST(SpecModule, MixedListsMerge) {
  std::string text = throughModule(prefillWith(
      "mask: [causal, {window: [3, 0]}, \"h > 0\"]\nscore: [{softcap: 2.0}, \"s + 1.0\"]\n"));
  EXPECT_NE(
      text.find(
          "mask: \"q_pos >= kv_pos and (q_pos - kv_pos <= 3 and q_pos >= kv_pos) and h > 0\""),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("score: \"2.0 * tanh(s / 2.0) + 1.0\""), std::string::npos) << text;
}

// Case C3: heads that are no power of two have the paper's interleaved slopes.
TEST(SpecModule, C3_AlibiOf40Heads) {
  std::string text = throughModule("attn: 1\nname: t\nkind: prefill\nheads: 40\ndim: 64\ndtype: "
                                   "f16\nscore: [alibi, \"s * 1.5\"]\n");
  EXPECT_NE(text.find("exp2((h + 1) * -0.25) if h < 32 else exp2((2 * (h - 32) + 1) * -0.125)"),
            std::string::npos)
      << text;
}

TEST(SpecModule, LocationsAreThoseOfTheFile) {
  std::string text = moduleText(prefillWith("args: {win: i32}\nmask: \"q_pos - kv_pos < win\"\n"),
                                /*locations=*/true);
  EXPECT_NE(text.find("loc(\"t.yaml\":8:23)"), std::string::npos) << text; // the '<'
  EXPECT_NE(text.find("loc(\"t.yaml\":8:14)"), std::string::npos) << text; // the '-'
  EXPECT_NE(text.find("loc(\"t.yaml\":1:1)"), std::string::npos) << text;
}

/// The spec of hand-written IR, and what was printed.
Parsed import(const std::string &text) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::attn::AttnDialect, mlir::func::FuncDialect>();
  Parsed result;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    result.diagnostics += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << result.diagnostics;
  if (module)
    result.spec = specFromModule(*module);
  return result;
}

const char *kHead =
    R"(func.func @f(%q: tensor<?x8x?x64xf16> {attn.name = "q"}, %k: tensor<?x2x?x64xf16> {attn.name = "k"},
    %v: tensor<?x2x?x64xf16> {attn.name = "v"}, %n: i32 {attn.name = "arg.n"}) -> (tensor<?x8x?x64xf16> {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
)";
const char *kTail = R"(
  return %o : tensor<?x8x?x64xf16>
})";

TEST(SpecModule, HandWrittenRegionsBecomeExpressions) {
  Parsed parsed = import(std::string(kHead) + R"(mask {
    ^bb0(%b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
      %0 = arith.addi %qi, %lk : i32
      %1 = arith.subi %0, %lq : i32
      %2 = arith.subi %1, %n : i32
      %3 = arith.cmpi sge, %kv, %2 : i32
      attn.yield %3 : i1 })" +
                         kTail);
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  ASSERT_EQ(parsed.spec->masks.size(), 1u);
  ASSERT_TRUE(parsed.spec->masks[0].expression);
  EXPECT_EQ(parsed.spec->masks[0].expression->text, "kv_pos >= q_pos - n");
}

// An op without an expression still gives a spec that can be shown and hashed, never a wrong one.
TEST(SpecModule, RegionsWithoutExpressionAreOpaque) {
  Parsed parsed = import(std::string(kHead) + R"(mask {
    ^bb0(%b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
      %0 = arith.shli %qi, %n : i32
      %1 = arith.cmpi ult, %kv, %0 : i32
      attn.yield %1 : i1 })" +
                         kTail);
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  ASSERT_EQ(parsed.spec->masks.size(), 1u);
  EXPECT_EQ(parsed.spec->masks[0].kind, SpecMask::Kind::Opaque);
  EXPECT_NE(parsed.spec->masks[0].text.find("arith.cmpi"), std::string::npos)
      << parsed.spec->masks[0].text;
  EXPECT_EQ(specHash(*parsed.spec).size(), 64u);
  mlir::MLIRContext context;
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    diagnostics += diagnostic.str();
    return mlir::success();
  });
  EXPECT_FALSE(buildModule(*parsed.spec, &context));
  EXPECT_NE(diagnostics.find("no expression says"), std::string::npos) << diagnostics;
}

// A value used twice doubles the text each time; that must not blow up.
TEST(SpecModule, SharedValuesDoNotExplode) {
  std::string body = "mask {\n^bb0(%b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):\n  "
                     "%x0 = arith.addi %kv, %kv : i32\n";
  for (int i = 1; i < 60; ++i)
    body += "  %x" + std::to_string(i) + " = arith.addi %x" + std::to_string(i - 1) + ", %x" +
            std::to_string(i - 1) + " : i32\n";
  Parsed parsed = import(std::string(kHead) + body +
                         "  %c = arith.cmpi sge, %x59, %qi : i32\n  attn.yield %c : i1 }" + kTail);
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  EXPECT_EQ(parsed.spec->masks[0].kind, SpecMask::Kind::Opaque);
}

TEST(SpecModule, ModulesThatAreNoSpec) {
  Parsed none = import("func.func @f() { return }");
  EXPECT_FALSE(none.spec);
  EXPECT_NE(none.diagnostics.find("holds 0 attention ops"), std::string::npos) << none.diagnostics;
  std::string unnamed = std::string(kHead) + kTail;
  size_t at = unnamed.find(" {attn.name = \"k\"}");
  unnamed.erase(at, std::string(" {attn.name = \"k\"}").size());
  Parsed missing = import(unnamed);
  EXPECT_FALSE(missing.spec);
  EXPECT_NE(missing.diagnostics.find("argument 1 of the function has no attn.name"),
            std::string::npos)
      << missing.diagnostics;
}

} // namespace
