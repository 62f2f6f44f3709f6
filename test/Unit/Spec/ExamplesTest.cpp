// Every file in examples/ and every example of docs/Spec.md is a valid spec that becomes valid IR.
#include "SpecTesting.h"

#include "attnc/Spec/Expression.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace attnc;
using namespace attnc::testing;

namespace {

std::vector<std::string> exampleFiles() {
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(ATTNC_SOURCE_DIR "/examples", error), end;
       it != end && !error; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".yaml")
      files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Examples, ThereAreEnough) { EXPECT_GE(exampleFiles().size(), 15u); }

TEST(Examples, ParseBuildAndRoundTrip) {
  std::set<std::string> names;
  for (const std::string &file : exampleFiles()) {
    SCOPED_TRACE(file);
    llvm::SourceMgr sources;
    std::string diagnostics;
    keepDiagnostics(sources, diagnostics);
    std::optional<Spec> spec = parseSpecFile(file, sources);
    EXPECT_EQ(diagnostics, "");
    ASSERT_TRUE(spec);
    EXPECT_TRUE(names.insert(spec->symbolName()).second) << "name used twice: " << spec->name;
    mlir::MLIRContext context;
    auto module = buildModule(*spec, &context);
    ASSERT_TRUE(module);
    std::optional<Spec> back = specFromModule(*module);
    ASSERT_TRUE(back);
    EXPECT_EQ(printSpec(*back), printSpec(*spec));
    llvm::StringRef text = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
    EXPECT_TRUE(text.starts_with("# ")) << "an example says which model it is from";
  }
}

std::string docs() {
  auto buffer = llvm::MemoryBuffer::getFile(ATTNC_SOURCE_DIR "/docs/Spec.md");
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Fenced blocks of the page with the given info string.
std::vector<std::string> blocks(const std::string &info) {
  std::vector<std::string> found;
  std::string page = docs(), fence = "```" + info + "\n";
  for (size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    size_t start = at + fence.size(), end = page.find("```", start);
    found.push_back(page.substr(start, end - start));
    at = end;
  }
  return found;
}

// `yaml` blocks are whole specs or pieces that any spec may hold; `expr` blocks are expressions.
TEST(Docs, SpecsAndPiecesParse) {
  std::vector<std::string> yaml = blocks("yaml");
  EXPECT_GE(yaml.size(), 8u);
  for (const std::string &text : yaml) {
    bool whole = text.rfind("attn:", 0) == 0;
    bool decode = text.find("decode") != std::string::npos;
    Parsed parsed = parse(whole ? text : decode ? decodeWith(text) : prefillWith(text));
    EXPECT_TRUE(parsed.spec) << text << parsed.diagnostics;
    mlir::MLIRContext context;
    EXPECT_TRUE(parsed.spec && buildModule(*parsed.spec, &context)) << text;
  }
}

// `error` blocks: a piece, a line of dashes, and what the message must contain.
TEST(Docs, ErrorsAreAsShown) {
  std::vector<std::string> errors = blocks("error");
  EXPECT_GE(errors.size(), 3u);
  for (const std::string &text : errors) {
    size_t split = text.find("---\n");
    ASSERT_NE(split, std::string::npos);
    Parsed parsed = parse(prefillWith(text.substr(0, split)));
    EXPECT_FALSE(parsed.spec);
    std::string wanted = llvm::StringRef(text).substr(split + 4).rtrim().str();
    EXPECT_NE(parsed.diagnostics.find(wanted), std::string::npos)
        << parsed.diagnostics << "is not\n"
        << wanted;
  }
}

TEST(Docs, EveryKeyIsDescribed) {
  std::string page = docs();
  for (const char *key : {"attn", "name", "kind", "heads", "dim", "dtype", "layout", "seq", "kv",
                          "args", "mask", "score", "bias", "sinks", "scale", "out", "split_kv"})
    EXPECT_NE(page.find("`" + std::string(key) + "`"), std::string::npos) << key;
  for (llvm::StringRef name : expressionReservedNames())
    EXPECT_NE(page.find(name.str()), std::string::npos) << name.str();
}

// The schema is JSON, and knows exactly the keys of the parser.
TEST(Schema, KnowsTheKeysOfTheParser) {
  auto schema = llvm::json::parse(specSchema());
  ASSERT_TRUE(static_cast<bool>(schema)) << llvm::toString(schema.takeError());
  const llvm::json::Object *properties = schema->getAsObject()->getObject("properties");
  ASSERT_TRUE(properties);
  std::string known = parse(prefillWith("zzzzzz: 1\n")).diagnostics;
  known = known.substr(known.find("allowed: ") + 9);
  std::set<std::string> parserKeys, schemaKeys;
  llvm::StringRef list = llvm::StringRef(known).take_until([](char c) { return c == '\n'; });
  llvm::SmallVector<llvm::StringRef> parts;
  std::string joined = list.str();
  size_t at = joined.find(" or ");
  joined.replace(at, 4, ", ");
  llvm::StringRef(joined).split(parts, ", ");
  for (llvm::StringRef part : parts)
    parserKeys.insert(part.str());
  for (const auto &entry : *properties)
    schemaKeys.insert(entry.first.str());
  EXPECT_EQ(parserKeys, schemaKeys);
}

} // namespace
