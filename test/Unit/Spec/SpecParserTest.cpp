// What specs may say, and what canonical text they become.
#include "SpecTesting.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::testing;

namespace {

/// The canonical text of a valid spec; fails the test if it is not one or its text is not stable.
std::string canonical(const std::string &text) {
  Parsed parsed = parse(text);
  EXPECT_EQ(parsed.diagnostics, "");
  if (!parsed.spec)
    return "";
  std::string printed = printSpec(*parsed.spec);
  Parsed again = parse(printed);
  EXPECT_EQ(again.diagnostics, "") << printed;
  if (again.spec) {
    EXPECT_EQ(printSpec(*again.spec), printed);
    EXPECT_EQ(specHash(*again.spec), specHash(*parsed.spec));
  }
  return printed;
}

std::string diagnosticsOf(const std::string &text) {
  Parsed parsed = parse(text);
  EXPECT_FALSE(parsed.spec.has_value());
  return parsed.diagnostics;
}

// The three specs of the design, letter by letter.
TEST(SpecParser, DesignPrefill) {
  Parsed parsed = parse(R"(attn: 1
name: llama3-8b-prefill
kind: prefill
heads: {q: 32, kv: 8}
dim: 128      # or {qk: 192, v: 128}
dtype: bf16
layout: bshd
mask: causal
out: [o, lse]
)");
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  const Spec &spec = *parsed.spec;
  EXPECT_EQ(spec.name, "llama3-8b-prefill");
  EXPECT_EQ(spec.symbolName(), "llama3_8b_prefill");
  EXPECT_EQ(spec.kind, SpecKind::Prefill);
  EXPECT_EQ(spec.headsQ, 32);
  EXPECT_EQ(spec.headsKv, 8);
  EXPECT_EQ(spec.dimQk, 128);
  EXPECT_EQ(spec.dimV, 128);
  EXPECT_EQ(spec.dtypeQ, DType::BF16);
  EXPECT_EQ(spec.layout, SpecLayout::BSHD);
  EXPECT_EQ(spec.seq, SpecSeq::Dense);
  ASSERT_EQ(spec.masks.size(), 1u);
  EXPECT_EQ(spec.masks[0].kind, SpecMask::Kind::Causal);
  EXPECT_TRUE(spec.lse);
  EXPECT_DOUBLE_EQ(spec.scaleValue(), 1 / std::sqrt(128.0));
}

TEST(SpecParser, DesignPagedDecode) {
  Parsed parsed = parse(R"(attn: 1
name: gqa-paged-decode
kind: decode
heads: {q: 32, kv: 8}
dim: 128
dtype: {q: bf16, kv: bf16, o: bf16}
kv: paged(page=16)
seq: {q: 1..8, kv: lens}
mask: causal
split_kv: auto
)");
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  EXPECT_EQ(parsed.spec->kind, SpecKind::Decode);
  EXPECT_EQ(parsed.spec->pageSize, 16);
  EXPECT_EQ(parsed.spec->maxQ, 8);
  EXPECT_EQ(parsed.spec->seq, SpecSeq::KvLens);
  EXPECT_FALSE(parsed.spec->splitKv);
  EXPECT_FALSE(parsed.spec->lse);
}

TEST(SpecParser, DesignExpressions) {
  Parsed parsed = parse(R"yaml(attn: 1
name: softcap-window
kind: prefill
heads: {q: 16, kv: 8}
dim: 256
dtype: bf16
seq: {varlen: cu_seqlens}
args: {cap: f32, win: i32}
mask: "q_pos >= kv_pos and q_pos - kv_pos < win"
score: "cap * tanh(s / cap)"
)yaml");
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  EXPECT_EQ(parsed.spec->seq, SpecSeq::Varlen);
  ASSERT_EQ(parsed.spec->args.size(), 2u);
  EXPECT_EQ(parsed.spec->args[1].name, "win");
  EXPECT_EQ(parsed.spec->args[1].dtype, DType::I32);
  ASSERT_EQ(parsed.spec->masks.size(), 1u);
  EXPECT_EQ(parsed.spec->masks[0].kind, SpecMask::Kind::Expression);
  EXPECT_EQ(parsed.spec->masks[0].loc.line, 9u);
  EXPECT_EQ(parsed.spec->masks[0].loc.column, 7u);
}

TEST(SpecParser, CanonicalLeavesDefaultsOutAndOrdersKeys) {
  EXPECT_EQ(
      canonical("split_kv: auto\nout: [lse, o]\nsinks: false\nlayout: bshd\ndtype: {q: f16}\n"
                "dim: {qk: 64, v: 64}\nheads: {q: 4, kv: 4}\nseq: dense\nkv: dense\nmask: none\n"
                "kind: prefill\nname: a\nattn: 1\n"),
      "attn: 1\nname: a\nkind: prefill\nheads: 4\ndim: 64\ndtype: f16\nout: [o, lse]\n");
}

TEST(SpecParser, CanonicalOfEverything) {
  std::string text =
      "attn: 1\nname: all\nkind: decode\nheads: {q: 8, kv: 2}\ndim: {qk: 192, v: 128}\n"
      "dtype: {q: f16, kv: f16, o: f32}\nlayout: bhsd\nseq: {q: 1..4, kv: lens}\n"
      "kv: paged(page=24)\nargs: {n: i32, doc: \"i32[?, ?]\", slopes: \"f32[8]\"}\n"
      "mask: [causal, causal_top_left, {window: [7, -1]}, {prefix_lm: n}, {document: doc}, \"b > 0 "
      "and h < n\"]\n"
      "score: [{softcap: 30.0}, {alibi: slopes}, alibi, \"s * 2.0\"]\nbias: bf16\nsinks: true\n"
      "scale: 0.1\nout: [o, lse]\nsplit_kv: 4\n";
  std::string printed = canonical(text);
  // The mask's line is over 100 columns, so it becomes a block.
  EXPECT_NE(printed.find("mask:\n  - causal\n  - causal_top_left\n  - {window: [7, -1]}\n"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("  - \"b > 0 and h < n\"\n"), std::string::npos);
  EXPECT_NE(printed.find("score: [{softcap: 30.0}, {alibi: slopes}, alibi, \"s * 2.0\"]\n"),
            std::string::npos);
}

// Case M5: a model's window of W tokens and the inclusive (left, right) are two spellings.
TEST(SpecParser, M5_WindowTokensAreOneMoreThanLeft) {
  Parsed tokens = parse(prefillWith("mask: [causal, {window_tokens: 4}]\n"));
  Parsed bounds = parse(prefillWith("mask: [causal, {window: {left: 3, right: 0}}]\n"));
  Parsed pair = parse(prefillWith("mask:\n- causal\n- window: [3, 0]\n"));
  ASSERT_TRUE(tokens.spec && bounds.spec && pair.spec);
  EXPECT_EQ(tokens.spec->masks[1].left, 3);
  EXPECT_EQ(tokens.spec->masks[1].right, 0);
  EXPECT_EQ(printSpec(*tokens.spec), printSpec(*bounds.spec));
  EXPECT_EQ(printSpec(*tokens.spec), printSpec(*pair.spec));
}

// Case M7: the right bound is inclusive and kept as written.
TEST(SpecParser, M7_RightBoundIsKept) {
  Parsed parsed = parse(prefillWith("mask: {window: [2, 4]}\n"));
  ASSERT_TRUE(parsed.spec);
  EXPECT_EQ(parsed.spec->masks[0].left, 2);
  EXPECT_EQ(parsed.spec->masks[0].right, 4);
}

TEST(SpecParser, OneSidedWindow) {
  Parsed parsed = parse(prefillWith("mask: {window: {right: 0}}\n"));
  ASSERT_TRUE(parsed.spec);
  EXPECT_EQ(parsed.spec->masks[0].left, -1);
  EXPECT_EQ(parsed.spec->masks[0].right, 0);
}

TEST(SpecParser, ArgumentForms) {
  Parsed parsed =
      parse(prefillWith("args:\n  a: f32\n  t: f32[32, ?]\n  u: {tensor: bf16, rank: 3}\n"
                        "  w: {tensor: bool, shape: [\"?\", 4]}\n"));
  ASSERT_TRUE(parsed.spec) << parsed.diagnostics;
  const auto &args = parsed.spec->args;
  EXPECT_FALSE(args[0].isTensor());
  EXPECT_EQ(args[1].shape, (std::vector<int64_t>{32, -1}));
  EXPECT_EQ(args[2].shape, (std::vector<int64_t>{-1, -1, -1}));
  EXPECT_EQ(args[3].dtype, DType::Bool);
  EXPECT_EQ(args[3].shape, (std::vector<int64_t>{-1, 4}));
}

TEST(SpecParser, PagedImpliesLengths) {
  Parsed plain = parse(decodeWith("kv: paged(page=16)\n"));
  Parsed mapped = parse(decodeWith("kv: {paged: {page: 16}}\n"));
  ASSERT_TRUE(plain.spec && mapped.spec) << plain.diagnostics << mapped.diagnostics;
  EXPECT_EQ(plain.spec->seq, SpecSeq::KvLens);
  EXPECT_EQ(printSpec(*plain.spec), printSpec(*mapped.spec));
}

TEST(SpecParser, HashDependsOnMeaningNotOnSpelling) {
  Parsed a = parse(prefillWith("mask: \"q_pos>=kv_pos\"\n")),
         b = parse(prefillWith("mask:   'q_pos  >=  (kv_pos)' # x\n"));
  Parsed c = parse(prefillWith("mask: \"q_pos>kv_pos\"\n"));
  ASSERT_TRUE(a.spec && b.spec && c.spec);
  EXPECT_EQ(specHash(*a.spec), specHash(*b.spec));
  EXPECT_NE(specHash(*a.spec), specHash(*c.spec));
  EXPECT_EQ(specHash(*a.spec).size(), 64u);
}

TEST(SpecParser, UnknownKeysAreErrorsWithSuggestions) {
  EXPECT_NE(diagnosticsOf(prefillWith("masks: causal\n"))
                .find("t.yaml:7:1: error: unknown key 'masks' in the spec; did you mean 'mask'?"),
            std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("seq: {kvs: lens}\n"))
                .find("t.yaml:7:7: error: unknown key 'kvs' in seq; did you mean 'kv'?"),
            std::string::npos)
      << diagnosticsOf(prefillWith("seq: {kvs: lens}\n"));
  EXPECT_NE(diagnosticsOf(prefillWith("mask: {windows: [1, 2]}\n")).find("did you mean 'window'?"),
            std::string::npos);
}

TEST(SpecParser, MisspeltValuesAreErrorsWithSuggestions) {
  EXPECT_NE(diagnosticsOf(prefillWith("mask: casual\n"))
                .find("t.yaml:7:7: error: unknown mask 'casual'; did you mean 'causal'?"),
            std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("layout: bsdh\n")).find("did you mean 'bshd'?"),
            std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("score: alibii\n")).find("did you mean 'alibi'?"),
            std::string::npos);
  EXPECT_NE(
      diagnosticsOf(prefillWith("mask: window\n")).find("needs a value; write {window: [4095, 0]}"),
      std::string::npos);
}

TEST(SpecParser, DuplicateKeysAreErrorsAtBothPlaces) {
  std::string text = diagnosticsOf(prefillWith("dim: 128\n"));
  EXPECT_NE(text.find("t.yaml:7:1: error: key 'dim' appears twice"), std::string::npos) << text;
  EXPECT_NE(text.find("t.yaml:5:1: note: it is here already"), std::string::npos) << text;
}

TEST(SpecParser, MissingKeysAreAllReported) {
  std::string text = diagnosticsOf("attn: 1\nname: t\n");
  for (const char *key : {"kind", "heads", "dim", "dtype"})
    EXPECT_NE(text.find(std::string("lacks the key '") + key + "'"), std::string::npos) << text;
}

TEST(SpecParser, WrongTypes) {
  EXPECT_NE(diagnosticsOf("attn: 2\nname: t\nkind: prefill\nheads: 8\ndim: 64\ndtype: bf16\n")
                .find("t.yaml:1:7: error: the version"),
            std::string::npos);
  EXPECT_NE(
      diagnosticsOf(prefillWith("sinks: yes\n")).find("sinks must be true or false; found 'yes'"),
      std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("scale: [1]\n")).find("scale must be a number"),
            std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("mask:\n")).find("key 'mask' has no value"),
            std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("out: [lse]\n")).find("out lacks 'o'"), std::string::npos);
  EXPECT_NE(diagnosticsOf(prefillWith("args: [f32]\n")).find("args is a mapping"),
            std::string::npos);
  EXPECT_NE(diagnosticsOf("- attn: 1\n")
                .find("a spec is a mapping that starts with 'attn: 1'; found a list"),
            std::string::npos);
}

// Expression faults point into the expression, not at its start.
TEST(SpecParser, ExpressionErrorsHaveTheirOwnColumn) {
  EXPECT_NE(diagnosticsOf(prefillWith("mask: \"q_pos >= kv_poss\"\n"))
                .find("t.yaml:7:17: error: unknown name 'kv_poss'; did you mean 'kv_pos'?"),
            std::string::npos)
      << diagnosticsOf(prefillWith("mask: \"q_pos >= kv_poss\"\n"));
  EXPECT_NE(
      diagnosticsOf(prefillWith("mask: >\n  q_pos >=\n  nonsense\n")).find("t.yaml:9:3: error"),
      std::string::npos)
      << diagnosticsOf(prefillWith("mask: >\n  q_pos >=\n  nonsense\n"));
  EXPECT_NE(diagnosticsOf(prefillWith("mask:\n  q_pos >= 1 and\n   nonsense > 0\n"))
                .find("t.yaml:9:4: error"),
            std::string::npos)
      << diagnosticsOf(prefillWith("mask:\n  q_pos >= 1 and\n   nonsense > 0\n"));
}

/// The formatted text, which formatting must leave alone.
std::string formatted(const std::string &text) {
  Parsed parsed = parse(text);
  EXPECT_TRUE(parsed.spec) << parsed.diagnostics;
  if (!parsed.spec)
    return "";
  std::string once = formatSpec(*parsed.spec, text);
  Parsed again = parse(once);
  EXPECT_TRUE(again.spec) << once << again.diagnostics;
  EXPECT_EQ(again.spec ? formatSpec(*again.spec, once) : "", once);
  return once;
}

TEST(SpecFormatter, CommentsStayWithTheirKeys) {
  EXPECT_EQ(formatted("# A model.\n# Two lines.\nattn: 1\nname:   t # beside\nkind: "
                      "prefill\nheads: {q: 4, kv: 4}\n"
                      "# about dim\ndim: 64\ndtype: bf16\nlayout: bshd # gone with its "
                      "key\nmask:\n  - causal # inner\n"
                      "  # about the window\n  - {window: [3, 0]}\nout: [o]\n# end\n"),
            "# A model.\n# Two lines.\nattn: 1\nname: t  # beside\nkind: prefill\nheads: 4\n# "
            "about dim\ndim: 64\n"
            "dtype: bf16\n# gone with its key\n# inner\nmask: [causal, {window: [3, 0]}]\n# about "
            "the window\n# end\n");
}

TEST(SpecParser, UnusedArgumentsAreWarnedOf) {
  Parsed parsed = parse(prefillWith("args: {cap: f32, win: i32}\nscore: \"s * cap\"\n"));
  EXPECT_TRUE(parsed.spec);
  EXPECT_EQ(parsed.diagnostics,
            "t.yaml:7:18: warning: argument 'win' is not used by mask or score\n");
}

} // namespace
