// Fuzzes the spec parser: whatever parses must print, hash, become IR and come back the same. Input
// that starts with '{' is read as a Hugging Face configuration too.
#include "FuzzTarget.h"

#include "attnc/Spec/Spec.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

using namespace attnc;

namespace {

/// A context grows with every location it is shown, so it is renewed now and then.
mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned uses = 0;
  if (!current || ++uses % 2000 == 0) {
    current = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    current->getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  }
  return *current;
}

void silence(llvm::SourceMgr &sources) {
  sources.setDiagHandler([](const llvm::SMDiagnostic &, void *) {});
}

std::optional<Spec> parseQuietly(llvm::StringRef text) {
  llvm::SourceMgr sources;
  silence(sources);
  return parseSpecText(text, "fuzz", sources);
}

void check(const Spec &spec, llvm::StringRef source) {
  FUZZ_CHECK(verifySpec(spec).empty());
  const std::string canonical = printSpec(spec);
  std::optional<Spec> again = parseQuietly(canonical);
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(printSpec(*again) == canonical);
  FUZZ_CHECK(specHash(*again) == specHash(spec));
  if (!source.empty()) {
    const std::string formatted = formatSpec(spec, source);
    std::optional<Spec> reread = parseQuietly(formatted);
    // Comments may push a file over the size limit; nothing else may go wrong.
    FUZZ_CHECK(reread.has_value() || formatted.size() > 65536);
    FUZZ_CHECK(!reread || formatSpec(*reread, formatted) == formatted);
  }
  auto module = buildModule(spec, &context());
  FUZZ_CHECK(module);
  std::optional<Spec> back = specFromModule(*module);
  FUZZ_CHECK(back.has_value());
  for (const SpecMask &mask : back->masks)
    if (mask.kind == SpecMask::Kind::Opaque)
      return; // several parts joined are longer than one expression may be
  for (const SpecScore &score : back->scores)
    if (score.kind == SpecScore::Kind::Opaque)
      return;
  // Reading IR back joins lists into one expression; from then on nothing changes.
  auto second = buildModule(*back, &context());
  FUZZ_CHECK(second);
  std::optional<Spec> stable = specFromModule(*second);
  FUZZ_CHECK(stable.has_value());
  FUZZ_CHECK(printSpec(*stable) == printSpec(*back));
}

std::vector<std::string> readAll(const char *directory) {
  std::vector<std::string> texts;
  for (const auto &entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    if (entry.path().extension() == ".yaml")
      texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return texts;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (std::optional<Spec> spec = parseQuietly(text))
    check(*spec, text);
  if (text.starts_with("{")) {
    for (SpecKind kind : {SpecKind::Prefill, SpecKind::Decode}) {
      llvm::SourceMgr sources;
      silence(sources);
      sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "fuzz"), llvm::SMLoc());
      std::vector<std::string> notes;
      HfOptions options;
      options.kind = kind;
      if (std::optional<Spec> spec = specFromHf(sources, options, notes))
        check(*spec, "");
    }
  }
  return 0;
}

std::vector<std::string> fuzzSeeds() {
  std::vector<std::string> seeds = readAll(ATTNC_SOURCE_DIR "/examples");
  seeds.push_back(
      "attn: 1\nname: all\nkind: decode\nheads: {q: 8, kv: 2}\ndim: {qk: 192, v: 128}\n"
      "dtype: {q: f16, kv: f16, o: f32}\nlayout: bhsd\nseq: {q: 1..4, kv: lens}\n"
      "kv: {paged: {page: 24}}\nargs:\n  n: i32\n  doc: {tensor: i32, rank: 2}\n"
      "  slopes: f32[8]\n  flag: {tensor: bool, shape: [\"?\", 4]}\n"
      "mask: [causal, causal_top_left, {window: {left: 7}}, {prefix_lm: n}, {document: doc}, 'b > "
      "0']\n"
      "score:\n- softcap: 30.0\n- alibi: slopes\n- alibi\n- expr: >\n    s *\n    2.0\nbias: bf16\n"
      "sinks: true\nscale: 0.1\nout: [o, lse]\nsplit_kv: 4\n");
  seeds.push_back(
      R"({"model_type": "gemma2", "hidden_size": 3584, "num_attention_heads": 16, "num_key_value_heads": 8,
    "head_dim": 256, "sliding_window": 4096, "attn_logit_softcapping": 50.0, "query_pre_attn_scalar": 256})");
  seeds.push_back(
      R"({"model_type": "deepseek_v3", "num_attention_heads": 128, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 512, "rope_scaling": {"factor": 40, "mscale_all_dim": 1.0}})");
  seeds.push_back(
      R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "attn_config": {"alibi": true, "alibi_bias_max": 16}})");
  return seeds;
}

std::vector<std::string> fuzzTokens() {
  return {"attn: 1\n",
          "name: x\n",
          "kind: decode\n",
          "heads: ",
          "dim: ",
          "dtype: f16\n",
          "layout: bhsd\n",
          "seq: {kv: lens}\n",
          "varlen: cu_seqlens",
          "kv: paged(page=16)\n",
          "args: {a: f32, t: \"f32[8, ?]\"}\n",
          "mask: ",
          "score: ",
          "causal",
          "{window: [1, 0]}",
          "{window_tokens: 4}",
          "{prefix_lm: n}",
          "{document: doc}",
          "{softcap: 2.0}",
          "alibi",
          "{expr: \"s\"}",
          "bias: f32\n",
          "sinks: true\n",
          "scale: 0.5\n",
          "out: [o, lse]\n",
          "split_kv: 2\n",
          "---\n",
          "...\n",
          "&a ",
          "*a",
          "!!str ",
          "? ",
          "- ",
          "[",
          "]",
          "{",
          "}",
          ", ",
          ": ",
          "\n",
          "\n  ",
          "|\n  ",
          ">-\n  ",
          "\"",
          "'",
          "# c\n",
          "\xEF\xBB\xBF",
          "\r\n",
          "%YAML 1.2\n",
          "q_pos >= kv_pos",
          "\\n",
          "\"model_type\": \"t5\""};
}
