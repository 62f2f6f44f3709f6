// Input that means harm, or was never a spec: an error, quickly, whatever the bytes.
#include "SpecTesting.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace attnc;
using namespace attnc::testing;

namespace {

/// Diagnostics of text that must be refused within a second.
std::string refused(const std::string &text) {
  auto start = std::chrono::steady_clock::now();
  Parsed parsed = parse(text);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_FALSE(parsed.spec.has_value());
  EXPECT_NE(parsed.diagnostics.find("error: "), std::string::npos);
  EXPECT_LT(seconds, 1.0);
  return parsed.diagnostics;
}

std::string repeat(const std::string &piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += piece;
  return text;
}

TEST(SpecHostile, BillionLaughs) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string previous = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
            repeat(previous + ", ", 9) + previous + "]\n";
  }
  EXPECT_NE(refused(text).find("t.yaml:1:6: error: anchors ('&name') are not allowed"),
            std::string::npos)
      << refused(text);
}

TEST(SpecHostile, AliasesTagsDirectivesAndDocuments) {
  EXPECT_NE(refused(prefillWith("mask: *x\n")).find("aliases"), std::string::npos);
  EXPECT_NE(refused(prefillWith("mask: !!str causal\n")).find("tags ('!type') are not allowed"),
            std::string::npos);
  EXPECT_NE(refused("%YAML 1.2\n---\n" + prefillWith("")).find("directives are not allowed"),
            std::string::npos);
  EXPECT_NE(refused(prefillWith("---\nattn: 1\n")).find("second YAML document"), std::string::npos)
      << refused(prefillWith("---\nattn: 1\n"));
}

TEST(SpecHostile, LeadingDocumentMarkerIsFine) {
  Parsed parsed = parse("---\n" + prefillWith(""));
  EXPECT_TRUE(parsed.spec) << parsed.diagnostics;
}

TEST(SpecHostile, TenMegabytes) {
  EXPECT_NE(refused(std::string(10 << 20, 'a')).find("bytes long; at most 65536 are allowed"),
            std::string::npos);
  EXPECT_NE(refused(prefillWith("# " + std::string(65536, 'x'))).find("at most 65536"),
            std::string::npos);
}

TEST(SpecHostile, DeepNesting) {
  refused(repeat("[", 60000));
  refused(repeat("{a: ", 15000));
  refused(repeat("- ", 30000));
  refused(repeat("? ", 30000));
  refused(repeat("[", 100) + repeat("]", 100));
  refused("mask: " + repeat("[", 20) + "causal" + repeat("]", 20) + "\n");
  std::string indented;
  for (int i = 0; i < 300; ++i)
    indented += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  refused(indented);
}

TEST(SpecHostile, NotText) {
  EXPECT_NE(refused("\xff\xfe"
                    "a")
                .find("not UTF-8"),
            std::string::npos);
  EXPECT_NE(refused(prefillWith("mask: \"caus\xc3\x28\"\n"))
                .find("t.yaml:7:12: error: the spec is not UTF-8"),
            std::string::npos);
  EXPECT_NE(refused(std::string("attn: 1\0name: t\n", 16)).find("control character 0x0"),
            std::string::npos);
  EXPECT_NE(refused("attn: 1\n\tname: t\n").find("t.yaml:2:1: error: found a tab"),
            std::string::npos);
  EXPECT_NE(refused("attn: 1\rname: t\n").find("control character 0xD"), std::string::npos);
  refused("\x7f\x45\x4c\x46");
}

TEST(SpecHostile, Empty) {
  for (const char *text :
       {"", "\n", "# only a comment\n", "---\n", "---\n...\n", "null\n", "~\n", "\xEF\xBB\xBF"})
    refused(text);
}

TEST(SpecHostile, Truncated) {
  std::string whole = prefillWith(
      "args: {cap: f32, t: \"f32[8, ?]\"}\nmask: [causal, {window: [3, 0]}, \"h > 0\"]\n"
      "score: \"cap * tanh(s / cap) + t[h, kv_pos]\"\nout: [o, lse]\n");
  ASSERT_TRUE(parse(whole).spec);
  for (size_t length = 0; length < whole.size(); ++length) {
    Parsed parsed = parse(whole.substr(0, length));
    EXPECT_TRUE(parsed.spec || !parsed.diagnostics.empty()) << "silent failure at " << length;
  }
}

TEST(SpecHostile, CrlfAndByteOrderMarkAreFine) {
  std::string text;
  for (char c : prefillWith("mask: causal\n"))
    text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  Parsed parsed = parse("\xEF\xBB\xBF" + text);
  EXPECT_TRUE(parsed.spec) << parsed.diagnostics;
}

TEST(SpecHostile, HugeExpressions) {
  refused(prefillWith("mask: \"" + repeat("(", 20000) + "\"\n"));
  refused(prefillWith("mask: \"" + repeat("not ", 2000) + "true\"\n"));
  refused(prefillWith("score: \"" + repeat("-", 8000) + "s\"\n"));
  refused(prefillWith("score: \"s" + repeat(" + s", 1900) + "\"\n"));
  refused(prefillWith("score: \"" + repeat("s if true else ", 500) + "s\"\n"));
  refused(prefillWith("score: \"" + repeat("min(", 1000) + "\"\n"));
}

TEST(SpecHostile, Files) {
  llvm::SourceMgr sources;
  std::string diagnostics;
  keepDiagnostics(sources, diagnostics);
  EXPECT_FALSE(parseSpecFile("/nonexistent/spec.yaml", sources));
  EXPECT_FALSE(parseSpecFile("/", sources));
  EXPECT_FALSE(parseSpecFile("/dev/zero", sources));
  EXPECT_NE(diagnostics.find("No such file"), std::string::npos) << diagnostics;
  EXPECT_NE(diagnostics.find("is a directory"), std::string::npos) << diagnostics;
  EXPECT_NE(diagnostics.find("longer than 65536 bytes"), std::string::npos) << diagnostics;
}

} // namespace
