// Hugging Face configurations to specs. The configurations are the attention fields as the models
// publish them.
#include "SpecTesting.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::testing;

namespace {

struct Converted {
  std::optional<Spec> spec;
  std::string diagnostics;
  std::vector<std::string> notes;
};

Converted convert(const std::string &json, SpecKind kind = SpecKind::Prefill, int64_t page = 0) {
  Converted result;
  llvm::SourceMgr sources;
  keepDiagnostics(sources, result.diagnostics);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(json, "config.json"),
                             llvm::SMLoc());
  HfOptions options;
  options.kind = kind;
  options.pageSize = page;
  result.spec = specFromHf(sources, options, result.notes);
  if (result.spec) { // whatever comes out is a spec that can be written down
    std::string text = printSpec(*result.spec);
    Parsed again = parse(text);
    EXPECT_TRUE(again.spec) << text << again.diagnostics;
    EXPECT_TRUE(again.spec && printSpec(*again.spec) == text);
  }
  return result;
}

std::string body(const Converted &converted) {
  EXPECT_TRUE(converted.spec) << converted.diagnostics;
  return converted.spec ? printSpec(*converted.spec) : "";
}

const char *kLlama3 =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
  "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16",
  "_name_or_path": "meta-llama/Meta-Llama-3-8B"})";

TEST(HfConfig, Llama3) {
  EXPECT_EQ(
      body(convert(kLlama3)),
      "attn: 1\nname: meta-llama-3-8b-prefill\nkind: prefill\nheads: {q: 32, kv: 8}\ndim: 128\n"
      "dtype: bf16\nmask: causal\n");
  EXPECT_EQ(body(convert(kLlama3, SpecKind::Decode, 16)),
            "attn: 1\nname: meta-llama-3-8b-decode\nkind: decode\nheads: {q: 32, kv: 8}\ndim: "
            "128\ndtype: bf16\n"
            "seq: {kv: lens}\nkv: paged(page=16)\nmask: causal\n");
}

// Case M5: the model's window counts the query's own token.
TEST(HfConfig, M5_MistralWindow) {
  Converted mistral =
      convert(R"({"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "sliding_window": 4096, "torch_dtype": "bfloat16"})");
  EXPECT_NE(body(mistral).find("mask: [causal, {window: [4095, 0]}]\n"), std::string::npos);
  Converted without =
      convert(R"({"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "sliding_window": null, "torch_dtype": "bfloat16"})");
  EXPECT_NE(body(without).find("mask: causal\n"), std::string::npos);
}

TEST(HfConfig, Qwen2IgnoresAWindowThatIsOff) {
  std::string text =
      body(convert(R"({"model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28,
    "num_key_value_heads": 4, "sliding_window": 131072, "use_sliding_window": false, "torch_dtype": "bfloat16"})"));
  EXPECT_NE(text.find("heads: {q: 28, kv: 4}\ndim: 128\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mask: causal\n"), std::string::npos) << text;
}

TEST(HfConfig, Gemma2) {
  std::string text =
      body(convert(R"({"model_type": "gemma2", "hidden_size": 3584, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 4096, "attn_logit_softcapping": 50.0,
    "query_pre_attn_scalar": 256, "torch_dtype": "float32"})"));
  EXPECT_NE(text.find("heads: {q: 16, kv: 8}\ndim: 256\ndtype: f32\n"), std::string::npos) << text;
  EXPECT_NE(text.find("score: {softcap: 50.0}\nscale: 0.0625\n"), std::string::npos) << text;
}

TEST(HfConfig, GptOss) {
  Converted gpt = convert(
      R"({"model_type": "gpt_oss", "hidden_size": 2880, "head_dim": 64, "num_attention_heads": 64,
    "num_key_value_heads": 8, "sliding_window": 128, "torch_dtype": "bfloat16"})");
  EXPECT_NE(body(gpt).find("mask: [causal, {window: [127, 0]}]\nsinks: true\n"), std::string::npos);
  ASSERT_EQ(gpt.notes.size(), 1u);
}

TEST(HfConfig, Alibi) {
  std::string bloom = body(convert(
      R"({"model_type": "bloom", "n_head": 32, "n_embed": 4096, "torch_dtype": "float16"})"));
  EXPECT_NE(bloom.find("heads: 32\ndim: 128\ndtype: f16\nmask: causal\nscore: alibi\n"),
            std::string::npos)
      << bloom;
  std::string mpt = body(
      convert(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "torch_dtype": "bfloat16",
    "attn_config": {"alibi": true, "alibi_bias_max": 8}})"));
  EXPECT_NE(mpt.find("score: alibi\n"), std::string::npos) << mpt;
  std::string other = body(
      convert(R"({"model_type": "mpt", "d_model": 7168, "n_heads": 64, "torch_dtype": "bfloat16",
    "attn_config": {"alibi": true, "alibi_bias_max": 16}})"));
  EXPECT_NE(other.find("args: {slopes: \"f32[64]\"}\nmask: causal\nscore: {alibi: slopes}\n"),
            std::string::npos)
      << other;
}

TEST(HfConfig, BertIsAnEncoder) {
  const char *bert = R"({"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12})";
  std::string text = body(convert(bert));
  EXPECT_NE(text.find("heads: 12\ndim: 64\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("mask"), std::string::npos) << text;
  EXPECT_NE(convert(bert, SpecKind::Decode).diagnostics.find("is an encoder and never decodes"),
            std::string::npos);
}

TEST(HfConfig, T5) {
  const char *t5 =
      R"({"model_type": "t5", "d_kv": 64, "d_model": 768, "num_heads": 12, "relative_attention_num_buckets": 32})";
  std::string text = body(convert(t5));
  EXPECT_NE(text.find("args: {rel: \"f32[12, 257]\"}\nscore: \"s + rel[h, min(max(kv_pos - q_pos, "
                      "-128), 128) + 128]\"\nscale: 1.0\n"),
            std::string::npos)
      << text;
  EXPECT_NE(body(convert(t5, SpecKind::Decode)).find("rel[h, min(max(q_pos - kv_pos, 0), 128)]"),
            std::string::npos);
}

TEST(HfConfig, DeepSeekV3) {
  const char *config =
      R"({"model_type": "deepseek_v3", "num_attention_heads": 128, "num_key_value_heads": 128,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 512, "torch_dtype": "bfloat16",
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0}})";
  Converted prefill = convert(config);
  std::string text = body(prefill);
  EXPECT_NE(text.find("heads: 128\ndim: {qk: 192, v: 128}\n"), std::string::npos) << text;
  ASSERT_TRUE(prefill.spec->scale);
  double magnitude = 0.1 * std::log(40.0) + 1;
  EXPECT_NEAR(*prefill.spec->scale, magnitude * magnitude / std::sqrt(192.0), 1e-7);
  Converted decode = convert(config, SpecKind::Decode);
  EXPECT_NE(body(decode).find("heads: {q: 128, kv: 1}\ndim: {qk: 576, v: 512}\n"),
            std::string::npos)
      << body(decode);
  EXPECT_FLOAT_EQ(*decode.spec->scale, *prefill.spec->scale);
}

TEST(HfConfig, PaliGemma) {
  std::string text =
      body(convert(R"({"model_type": "paligemma", "torch_dtype": "bfloat16", "text_config": {
    "model_type": "gemma", "hidden_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 1}})"));
  EXPECT_NE(text.find("heads: {q: 8, kv: 1}\ndim: 256\n"), std::string::npos) << text;
  EXPECT_NE(text.find("args: {prefix: \"i32[?]\"}\nmask: {prefix_lm: prefix}\n"), std::string::npos)
      << text;
}

TEST(HfConfig, Faults) {
  auto fault = [](const std::string &json) {
    Converted converted = convert(json);
    EXPECT_FALSE(converted.spec);
    return converted.diagnostics;
  };
  EXPECT_NE(fault("{\n \"model_type\": \"lama\"}")
                .find("config.json:2:2: error: unknown model type 'lama'; did you mean 'llama'?"),
            std::string::npos);
  EXPECT_NE(fault("{").find("is not JSON"), std::string::npos);
  EXPECT_NE(fault("").find("is not JSON"), std::string::npos);
  EXPECT_NE(fault("[]").find("has no 'model_type'"), std::string::npos);
  EXPECT_NE(fault(R"({"model_type": "llama"})").find("lacks 'num_attention_heads'"),
            std::string::npos);
  EXPECT_NE(fault(R"({"model_type": "llama", "num_attention_heads": 0, "hidden_size": 4})")
                .find("must be an integer from 1"),
            std::string::npos);
  EXPECT_NE(fault(R"({"model_type": "llama", "num_attention_heads": 3, "hidden_size": 100})")
                .find("not a multiple of the 3 heads"),
            std::string::npos);
  EXPECT_NE(
      fault(
          R"({"model_type": "llama", "num_attention_heads": 6, "num_key_value_heads": 4, "head_dim": 64})")
          .find("heads q is 6 and heads kv is 4"),
      std::string::npos);
  std::string nested(100000, '[');
  EXPECT_NE(fault(nested).find("nests deeper than 256"), std::string::npos);
  EXPECT_NE(fault("{\"a\": \"\xff\"}").find("is not JSON"), std::string::npos);
}

} // namespace
