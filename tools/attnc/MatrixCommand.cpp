// attnc matrix: features (or specs) by targets, each cell a real compile.
#include "CommonOptions.h"
#include "Messages.h"
#include "TargetSelection.h"
#include "Verbs.h"
#include "Verdict.h"

#include "attnc/Support/ExitCodes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attnc::cli {

static cl::list<std::string> specs(cl::Positional, cl::value_desc("SPEC"),
                                   cl::desc("[specs for rows; none: one row a feature]"),
                                   cl::sub(matrixVerb()));
static cl::opt<bool> asMarkdown("md", cl::desc("Print Markdown"), cl::sub(matrixVerb()));
static cl::opt<bool> ptxOnly("ptx-only", cl::desc("Do not assemble, even where it is possible"),
                             cl::sub(matrixVerb()));

namespace {
/// A row of the table: a label and the lines that differ from the base spec.
struct Feature {
  const char *label;
  const char *lines;
};

struct MatrixRow {
  std::string label;
  std::vector<Verdict> cells;
};
} // namespace

/// Lines replace those of the base with the same key. Every feature of the spec language appears.
static const Feature kFeatures[] = {
    {"no mask", ""},
    {"causal", "mask: causal\n"},
    {"causal, top-left", "mask: causal_top_left\n"},
    {"sliding window", "mask: [causal, {window_tokens: 512}]\n"},
    {"two-sided window", "mask: {window: [128, 64]}\n"},
    {"prefix-LM", "args: {prefix: \"i32[?]\"}\nmask: {prefix_lm: prefix}\n"},
    {"document mask", "args: {ids: \"i32[?, ?]\"}\nmask: {document: ids}\n"},
    {"mask expression", "args: {win: i32}\nmask: \"q_pos >= kv_pos and q_pos - kv_pos < win\"\n"},
    {"mask tensor", "args: {keep: \"bool[?, ?]\"}\nmask: \"keep[b, kv_pos]\"\n"},
    {"softcap", "score: {softcap: 50.0}\n"},
    {"ALiBi", "mask: causal\nscore: alibi\n"},
    {"score expression", "args: {a: f32}\nscore: \"s + a * tanh(s)\"\n"},
    {"bias tensor", "bias: f32\n"},
    {"relative bias by lookup",
     "args: {rel: \"f32[8, 257]\"}\n"
     "score: \"s + rel[h, min(max(kv_pos - q_pos, -128), 128) + 128]\"\n"},
    {"sinks", "mask: causal\nsinks: true\n"},
    {"LSE output", "out: [o, lse]\n"},
    {"grouped-query", "heads: {q: 8, kv: 2}\n"},
    {"multi-query", "heads: {q: 8, kv: 1}\n"},
    {"group of 5", "heads: {q: 10, kv: 2}\n"},
    {"bhsd layout", "layout: bhsd\n"},
    {"f16", "dtype: f16\n"},
    {"f32", "dtype: f32\n"},
    {"f32 output", "dtype: {q: bf16, kv: bf16, o: f32}\n"},
    {"head dim 40", "dim: 40\n"},
    {"head dim 64", "dim: 64\n"},
    {"head dim 80", "dim: 80\n"},
    {"head dim 96", "dim: 96\n"},
    {"head dim 256", "dim: 256\n"},
    {"head dim 512", "dim: 512\n"},
    {"dims 192/128", "dim: {qk: 192, v: 128}\n"},
    {"dims 576/512", "dim: {qk: 576, v: 512}\n"},
    {"varlen", "seq: {varlen: cu_seqlens}\nmask: causal\n"},
    {"KV lengths", "seq: {kv: lens}\nmask: causal\n"},
    {"decode", "kind: decode\nheads: {q: 8, kv: 2}\n"},
    {"decode, KV lengths", "kind: decode\nheads: {q: 8, kv: 2}\nseq: {kv: lens}\n"},
    {"decode, 8 query tokens",
     "kind: decode\nheads: {q: 8, kv: 2}\nseq: {q: 1..8, kv: lens}\nmask: causal\n"},
    {"decode, pages of 16",
     "kind: decode\nheads: {q: 8, kv: 2}\nseq: {kv: lens}\nkv: paged(page=16)\n"},
    {"decode, pages of 1",
     "kind: decode\nheads: {q: 8, kv: 2}\nseq: {kv: lens}\nkv: paged(page=1)\n"},
    {"decode, sinks and window",
     "kind: decode\nheads: {q: 8, kv: 2}\nseq: {kv: lens}\n"
     "mask: [causal, {window_tokens: 128}]\nsinks: true\n"},
};

/// The base spec with a feature's lines in place of its own.
static std::string featureSpec(const Feature &feature) {
  std::string text = "attn: 1\nname: feature\n", own = "\n";
  own += feature.lines;
  for (StringRef line : {"kind: prefill\n", "heads: 8\n", "dim: 128\n", "dtype: bf16\n"})
    if (!StringRef(own).contains(("\n" + line.split(' ').first).str()))
      text += line;
  return text + feature.lines;
}

static MatrixRow judgeRow(std::string label, Input &input,
                          ArrayRef<const TargetInfo *> targets, bool assemble, Progress &progress) {
  MatrixRow row;
  row.label = std::move(label);
  for (const TargetInfo *target : targets) {
    progress.step(row.label + " on " + target->name);
    row.cells.push_back(judge(input, *target, "", assemble ? Depth::Assembled : Depth::Full));
  }
  return row;
}

static std::string cellText(const Verdict &verdict) {
  if (verdict.ok())
    return verdict.spillBytes > 0 ? "spills" : "yes";
  return verdict.code == kExitUnsupported ? "no" : "FAILED";
}

static void printTable(ArrayRef<MatrixRow> rows, ArrayRef<const TargetInfo *> targets,
                       bool assembled) {
  constexpr size_t labelWidth = 26, cellWidth = 9;
  const char *separator = asMarkdown ? " | " : "";
  auto cell = [&](StringRef text, size_t width) {
    outs() << separator << left_justify(text, width);
  };
  if (asMarkdown)
    outs() << "|";
  outs() << left_justify("feature", labelWidth);
  for (const TargetInfo *target : targets)
    cell(target->name, cellWidth);
  outs() << (asMarkdown ? " |\n|---" : "\n");
  if (asMarkdown) {
    for (size_t i = 0; i < targets.size(); ++i)
      outs() << "|---";
    outs() << "|\n";
  }
  std::vector<std::string> reasons;
  for (const MatrixRow &row : rows) {
    if (asMarkdown)
      outs() << "|";
    outs() << left_justify(row.label, labelWidth);
    for (const Verdict &verdict : row.cells) {
      std::string text = cellText(verdict);
      if (!verdict.ok()) {
        auto at = llvm::find(reasons, verdict.reason);
        if (at == reasons.end())
          at = reasons.insert(at, verdict.reason);
        text += " (" + std::to_string(at - reasons.begin() + 1) + ")";
      }
      cell(text, cellWidth);
    }
    outs() << (asMarkdown ? " |\n" : "\n");
  }
  outs() << "\nyes: compiles to PTX" << (assembled ? " and assembles without spills" : "")
         << "; the host: compiles to a program.\n";
  if (assembled)
    outs() << "spills: assembles, with registers spilled to memory.\n";
  for (size_t i = 0; i < reasons.size(); ++i)
    outs() << (asMarkdown ? "\n" : "") << "(" << i + 1 << ") " << reasons[i] << "\n";
}

static void printJson(ArrayRef<MatrixRow> rows, ArrayRef<const TargetInfo *> targets) {
  json::Array all;
  for (const MatrixRow &row : rows) {
    json::Array cells;
    for (auto [target, verdict] : zip_equal(targets, row.cells))
      cells.push_back(verdictJson(*target, verdict));
    all.push_back(json::Object{{"feature", row.label}, {"targets", std::move(cells)}});
  }
  outs() << formatv("{0:2}", json::Value(std::move(all))) << "\n";
}

int matrixMain() {
  std::vector<const TargetInfo *> targets;
  std::vector<std::string> names(targetNames.begin(), targetNames.end());
  if (names.empty())
    names.push_back("all");
  if (int code = selectTargets(names, targets))
    return code;
  bool assemble = !ptxOnly && hasOfflineAssembler();
  size_t count = specs.empty() ? std::size(kFeatures) : specs.size();
  Progress progress(count * targets.size());
  std::vector<MatrixRow> rows;
  if (specs.empty()) {
    for (const Feature &feature : kFeatures) {
      Input input;
      if (input.loadText(featureSpec(feature), feature.label))
        return kExitInternal;
      rows.push_back(judgeRow(feature.label, input, targets, assemble, progress));
    }
  } else {
    for (const std::string &path : specs) {
      Input input;
      if (int code = input.load(path))
        return code;
      rows.push_back(judgeRow(input.spec.name, input, targets, assemble, progress));
    }
  }
  clearProgressLine();
  if (asJson)
    printJson(rows, targets);
  else
    printTable(rows, targets, assemble);
  for (const MatrixRow &row : rows)
    for (const Verdict &verdict : row.cells)
      if (!verdict.ok() && verdict.code != kExitUnsupported)
        return verdict.code;
  return kExitOk;
}

} // namespace attnc::cli
