// Every limit of a spec: the fault's place, what was found and what is allowed.
#include "SpecTesting.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::testing;

namespace {

std::string spec(const std::string &heads, const std::string &dim,
                 const std::string &dtype = "bf16", const std::string &name = "t") {
  return "attn: 1\nname: " + name + "\nkind: prefill\nheads: " + heads + "\ndim: " + dim +
         "\ndtype: " + dtype + "\n";
}

void expectFault(const std::string &text, const std::string &wanted) {
  Parsed parsed = parse(text);
  EXPECT_FALSE(parsed.spec.has_value()) << text;
  EXPECT_NE(parsed.diagnostics.find(wanted), std::string::npos)
      << "wanted " << wanted << "\ngot " << parsed.diagnostics;
}

void expectValid(const std::string &text) {
  Parsed parsed = parse(text);
  EXPECT_TRUE(parsed.spec.has_value()) << text << parsed.diagnostics;
}

// Case D12: Hq not divisible by Hkv, with both numbers.
TEST(SpecLimits, D12_HeadsMustDivide) {
  expectFault(spec("{q: 6, kv: 4}", "64"),
              "t.yaml:4:9: error: heads q is 6 and heads kv is 4; heads q must be a multiple");
}

// Case D1: every integer ratio is legal.
TEST(SpecLimits, D1_EveryGroupSizeIsLegal) {
  for (int group = 1; group <= 16; ++group)
    expectValid(spec("{q: " + std::to_string(group * 4) + ", kv: 4}", "64"));
}

// Case S9: zero heads or dims are errors, not divisions by zero.
TEST(SpecLimits, S9_ZeroHeadsAndDims) {
  expectFault(spec("0", "64"), "heads is 0; allowed are 1 to 1024");
  expectFault(spec("{q: 8, kv: 0}", "64"),
              "t.yaml:4:19: error: heads kv is 0; allowed are 1 to 1024");
  expectFault(spec("8", "0"), "dim is 0; allowed are the multiples of 8 from 8 to 576");
  expectFault(spec("8", "{qk: 64, v: 0}"), "t.yaml:5:18: error: dim v is 0; allowed");
}

// Case D3: head dims are right or refused with the legal ones named.
TEST(SpecLimits, D3_HeadDims) {
  for (int dim : {8, 40, 56, 72, 80, 96, 104, 112, 136, 160, 192, 224, 512, 576})
    expectValid(spec("8", std::to_string(dim)));
  expectFault(spec("8", "100"),
              "t.yaml:5:6: error: dim is 100; allowed are the multiples of 8 from 8 to 576 "
              "(8, 16, 24, …, 64, …, 128, …, 256, …, 576); pad q, k and v with zeros to 104");
  expectFault(spec("8", "584"), "dim is 584; allowed");
}

// Case P4: any page size from 1; what the docs and the check say is the same.
TEST(SpecLimits, P4_PageSizes) {
  for (int page : {1, 8, 16, 24, 48, 64, 128, 768, 65536})
    expectValid(decodeWith("kv: paged(page=" + std::to_string(page) + ")\n"));
  expectFault(decodeWith("kv: paged(page=0)\n"),
              "t.yaml:7:5: error: the page size is 0 tokens; allowed are 1 to 65536");
  expectFault(decodeWith("kv: paged(page=65537)\n"), "allowed are 1 to 65536");
  expectFault(decodeWith("kv: paged(page=-4)\n"), "the page size is -4; allowed are integers from");
  expectFault(decodeWith("kv: paged(16)\n"), "it must be dense or paged(page=N)");
  expectFault(decodeWith("seq: {varlen: cu_seqlens}\nkv: paged(page=16)\n"),
              "a paged KV cache has its lengths in kv_lens");
  expectFault(decodeWith("seq: {kv: dense}\nkv: paged(page=16)\n"),
              "a paged KV cache needs lengths");
}

TEST(SpecLimits, AbsurdSizes) {
  expectFault(spec("99999999999999999999999", "64"),
              "heads is 99999999999999999999999; allowed are integers from");
  expectFault(spec("1e3", "64"), "heads is '1e3'; it must be an integer");
  expectFault(spec("0x10", "64"), "heads is '0x10'; it must be an integer");
  expectFault(spec("08", "64"), "heads is '08'; it must be an integer");
  expectFault(spec("\"8\"", "64"), "quoted string; write the integer without quotes");
  expectFault(spec("5000", "64"), "heads is 5000; allowed are 1 to 1024");
  expectFault(prefillWith("mask: {window: [99999999999, 0]}\n"),
              "the window's left is 99999999999; allowed are integers from -1");
}

TEST(SpecLimits, Scale) {
  expectFault(prefillWith("scale: 0\n"), "t.yaml:7:8: error: scale is 0; it must be above zero");
  expectFault(prefillWith("scale: -1.0\n"), "scale is -1.0; it must be above zero");
  expectFault(prefillWith("scale: .inf\n"), "scale is '.inf'; it must be a number");
  expectFault(prefillWith("scale: nan\n"), "scale is 'nan'; it must be a number");
  expectFault(prefillWith("scale: 1e39\n"), "finite in f32");
  expectFault(prefillWith("scale: 1e-60\n"), "above zero");
  expectFault(prefillWith("score: {softcap: 0}\n"), "softcap is 0; it must be above zero");
}

TEST(SpecLimits, DTypes) {
  expectFault(spec("8", "64", "fp17"),
              "t.yaml:6:8: error: dtype is 'fp17'; it must be f16, bf16 or f32");
  expectFault(spec("8", "64", "f8e4m3"), "dtype is 'f8e4m3'; it must be f16, bf16 or f32");
  expectFault(spec("8", "64", "{q: bf16, kv: f16}"),
              "dtype q is bf16 and dtype kv is f16; they must be the same");
  expectFault(prefillWith("bias: i32\n"), "bias is 'i32'; it must be f16, bf16 or f32");
  expectFault(prefillWith("args: {x: bf16}\n"),
              "argument 'x' is a scalar of type bf16; scalars are f32 or i32");
}

TEST(SpecLimits, QueryRange) {
  expectFault(decodeWith("seq: {q: 1..65}\n"),
              "t.yaml:7:10: error: seq.q allows up to 65 query tokens; a decode allows 1 to 64");
  expectFault(decodeWith("seq: {q: 0}\n"), "seq.q is 0; allowed are integers from 1");
  expectFault(decodeWith("seq: {q: 2..8}\n"),
              "the lower end of seq.q is 2; allowed are integers from 1 to 1");
  expectFault(decodeWith("seq: {q: 1..}\n"), "the upper end of seq.q is ''");
  expectFault(prefillWith("seq: {q: 1..8}\n"), "a prefill takes any number of queries");
  expectFault(prefillWith("seq: {varlen: cu_seqlens, kv: lens}\n"),
              "seq has both 'varlen' and 'kv'");
}

TEST(SpecLimits, SplitKv) {
  expectFault(prefillWith("split_kv: 4\n"), "split_kv is 4 but the kind is prefill");
  expectFault(decodeWith("split_kv: 0\n"), "split_kv is 0; allowed are auto or 1 to 256");
  expectFault(decodeWith("split_kv: 257\n"), "split_kv is 257; allowed are auto or 1 to 256");
  expectFault(decodeWith("split_kv: some\n"),
              "split_kv must be auto or a number of splits; found 'some'");
  expectValid(decodeWith("split_kv: 256\n"));
}

TEST(SpecLimits, Names) {
  expectFault(spec("8", "64", "bf16", "../etc"),
              "t.yaml:2:7: error: name is '../etc'; it must start with a letter");
  expectFault(spec("8", "64", "bf16", "9x"), "name is '9x'");
  expectFault(spec("8", "64", "bf16", std::string(129, 'a')), "1 to 128 letters");
  expectFault(prefillWith("args: {s: f32}\n"), "argument name 's' is taken by the language");
  expectFault(prefillWith("args: {q: f32}\n"), "argument name 'q' is taken");
  expectFault(prefillWith("args: {tanh: f32}\n"), "argument name 'tanh' is taken");
  expectFault(prefillWith("args: {a-b: f32}\n"), "argument name 'a-b' must start with a letter");
}

TEST(SpecLimits, Windows) {
  expectFault(prefillWith("mask: {window: [-1, -1]}\n"),
              "t.yaml:7:8: error: the window is unbounded on both sides");
  expectFault(prefillWith("mask: {window: [-2, 0]}\n"),
              "the window's left is -2; allowed are integers from -1");
  expectFault(prefillWith("mask: {window: [1]}\n"), "a window has 1 numbers; write [left, right]");
  expectFault(prefillWith("mask: {window_tokens: 0}\n"),
              "window_tokens is 0; allowed are integers from 1");
  expectFault(prefillWith("mask: {window: 4}\n"),
              "a model's window of W tokens including the query's own is {window_tokens: W}");
  expectFault(prefillWith("mask: {window: [3, 0], causal: top_left}\n"),
              "a mask has 2 keys; write one each, as a list");
}

TEST(SpecLimits, ArgumentsOfNamedParts) {
  expectFault(prefillWith("mask: {prefix_lm: n}\n"),
              "'n' is not an argument; declare it under 'args' as i32 or i32[?]");
  expectFault(prefillWith("args: {n: f32}\nmask: {prefix_lm: n}\n"),
              "prefix_lm takes an argument of type i32 or i32[?]");
  expectFault(prefillWith("args: {doc: \"i32[?]\"}\nmask: {document: doc}\n"),
              "document takes an argument of type i32[?, ?]");
  expectFault(prefillWith("args: {slopes: \"f32[8]\"}\nscore: {alibi: slope}\n"),
              "'slope' is not an argument; did you mean 'slopes'?");
}

TEST(SpecLimits, TensorShapes) {
  expectFault(prefillWith("args: {t: \"f32[0]\"}\n"),
              "an extent of argument 't' (or ? for any) is 0");
  expectFault(prefillWith("args: {t: \"f32[]\"}\n"), "an extent of argument 't'");
  expectFault(prefillWith("args: {t: \"f32[1,2,3,4,5,6]\"}\n"),
              "argument 't' has rank 6; allowed are 1 to 5");
  expectFault(prefillWith("args: {t: \"f32[1\"}\n"), "argument 't' lacks ']'");
  expectFault(prefillWith("args: {t: \"f64[1]\"}\n"), "the type of argument 't' is 'f64'");
  expectFault(prefillWith("args: {t: {tensor: f32}}\n"), "either 'rank' or 'shape'");
}

} // namespace
