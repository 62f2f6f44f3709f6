// Rules of kernel names, most specific first.
#include "Families.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>

namespace attnc::bench {

std::string demangle(const std::string &name) {
  int status = 0;
  char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

std::string kernelFamily(const std::string &name) {
  std::string n = demangle(name);
  std::transform(n.begin(), n.end(), n.begin(), [](unsigned char c) { return char(tolower(c)); });
  const auto has = [&](const char *part) { return n.find(part) != std::string::npos; };
  if (has("flash_forward") || has("decode_split") || has("naive_scores") || has("decode_combine"))
    return "hand-written";
  if (has("pytorch_flash"))
    return "pytorch-flash";
  if (has("cudnn"))
    return "cudnn";
  if (has("fmha_cutlass") || has("attentionkernel"))
    return "cutlass-fmha";
  if (has("flashinfer") || has("batchdecodewithpagedkvcache") || has("batchprefillwith"))
    return "flashinfer";
  if (has("flash::") || has("flash_fwd") || has("flashattnfwd") || has("flash_attn"))
    return "flash-attn";
  if (n.rfind("bench_prefill", 0) == 0 || n.rfind("bench_decode", 0) == 0)
    return "attnc";
  if (n.rfind("triton", 0) == 0 || has("attention_forward_triton"))
    return "triton";
  if (has("gemm") || has("gemv") || has("cutlass") || has("nvjet") || has("_mma_") || has("splitk"))
    return "unfused-gemm";
  return "unknown";
}

std::string launchFamily(const std::vector<std::string> &names) {
  std::string out = "unknown";
  for (const std::string &name : names) {
    const std::string family = kernelFamily(name);
    if (family == "unknown")
      continue;
    if (family != "unfused-gemm")
      return family;
    out = family;
  }
  return out;
}

} // namespace attnc::bench
