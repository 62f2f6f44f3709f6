// The table and the reading of --impl.
#include "Catalogue.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

namespace attnc::bench {

const std::vector<CatalogueEntry> &catalogue() {
  static const char *torch = "pip install torch";
  static const char *cudnn = "when building: pip install nvidia-cudnn-frontend nvidia-cudnn-cu13";
  static const std::vector<CatalogueEntry> entries = {
      {"P0-naive", "prefill", Backing::Python, "torch: matmul, softmax, matmul", torch},
      {"P1-inductor", "prefill", Backing::Python, "torch.compile of the naive form", torch},
      {"P1-inductor-nofuse", "prefill", Backing::Python,
       "the same without attention pattern matching", torch},
      {"P1-inductor-where", "prefill", Backing::Python, "the same with the mask by torch.where",
       torch},
      {"P2b-sdpa-mem-eff", "prefill", Backing::Python, "torch SDPA, memory-efficient backend",
       torch},
      {"P2c-sdpa-flash", "prefill", Backing::Python, "torch SDPA, flash backend", torch},
      {"P2d-sdpa-cudnn", "prefill", Backing::Python, "torch SDPA, cuDNN backend", torch},
      {"P3-triton", "prefill", Backing::Python, "our Triton kernel", "pip install torch triton"},
      {"P4-fa2", "prefill", Backing::Python, "flash-attn 2",
       "pip install flash-attn --no-build-isolation"},
      {"P4h-fa3", "prefill", Backing::Python, "FlashAttention-3 (Hopper)",
       "build flash_attn_interface from the hopper/ folder of FlashAttention"},
      {"P5-attnc", "prefill", Backing::Attnc, "kernels of attnc", "built with this project"},
      {"P6-cudnn", "prefill", Backing::Cudnn, "cuDNN's SDPA through its C++ frontend", cudnn},
      {"P7-hand", "prefill", Backing::Hand, "hand-written tiled mma.sync kernel",
       "NVRTC: pip install nvidia-cuda-nvrtc"},
      {"P7-hand-naive", "prefill", Backing::HandNaive,
       "hand-written, three kernels, scores in memory", "NVRTC: pip install nvidia-cuda-nvrtc"},
      {"P8-flex", "prefill", Backing::Python, "torch FlexAttention (variants too)", torch},
      {"D0-naive-kv", "decode", Backing::Python, "torch: matmul, softmax, matmul, KV expanded",
       torch},
      {"D1-inductor", "decode", Backing::Python, "torch.compile of the naive form", torch},
      {"D2-sdpa", "decode", Backing::Python, "torch SDPA as it dispatches", torch},
      {"D3-fa-kvcache", "decode", Backing::Python, "flash_attn_with_kvcache",
       "pip install flash-attn --no-build-isolation"},
      {"D4-flashinfer", "decode", Backing::Python, "FlashInfer's batch decode",
       "pip install flashinfer-python"},
      {"D5-attnc", "decode", Backing::Attnc, "kernels of attnc", "built with this project"},
      {"D6-fa-prefill-at-1", "decode", Backing::Python, "flash-attn's prefill entry, one query",
       "pip install flash-attn --no-build-isolation"},
      {"D7-cudnn", "decode", Backing::Cudnn, "cuDNN's SDPA through its C++ frontend", cudnn},
      {"D8-hand", "decode", Backing::Hand, "hand-written split-KV kernel",
       "NVRTC: pip install nvidia-cuda-nvrtc"},
  };
  return entries;
}

static std::size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1,
                         diagonal + (tolower(a[i - 1]) == tolower(b[j - 1]) ? 0 : 1)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

Result<std::vector<Selected>> selectImplementations(const std::vector<std::string> &words) {
  std::vector<Selected> out;
  if (words.empty()) {
    for (const CatalogueEntry &e : catalogue())
      out.push_back({e.id, &e});
    return out;
  }
  for (const std::string &word : words) {
    std::istringstream parts(word);
    for (std::string part; std::getline(parts, part, ',');) {
      if (part.empty())
        continue;
      Selected s;
      const std::size_t plus = part.find('+');
      const std::string base = part.substr(0, plus);
      for (const CatalogueEntry &e : catalogue())
        if (plus != std::string::npos && base == e.id && e.backing == Backing::Attnc)
          s.entry = &e;
      if (s.entry) {
        s.id = part;
        s.config = part.substr(plus + 1);
        std::replace(s.config.begin(), s.config.end(), '+', ',');
      } else if (const std::size_t equals = part.find('='); equals != std::string::npos) {
        s.id = part.substr(0, equals);
        s.plugin = part.substr(equals + 1);
        const std::size_t colon = s.plugin.rfind(':');
        if (s.id.empty() || colon == std::string::npos || colon == 0 ||
            colon + 1 == s.plugin.size())
          return Status(StatusCode::InvalidArgument,
                        fmt::format("--impl {}: a plug-in is NAME=path.py:function", part));
        // Now, not in the worker: it loads the file again for every cell and after every restart,
        // and a plug-in may change the worker's directory.
        std::error_code error;
        const std::filesystem::path file =
            std::filesystem::absolute(s.plugin.substr(0, colon), error).lexically_normal();
        if (error || !std::filesystem::is_regular_file(file, error))
          return Status(StatusCode::InvalidArgument,
                        fmt::format("--impl {}: no file {}; a plug-in is NAME=path.py:function",
                                    part, file.string()));
        s.plugin = file.string() + s.plugin.substr(colon);
      } else {
        const CatalogueEntry *nearest = nullptr;
        for (const CatalogueEntry &e : catalogue()) {
          if (part == e.id)
            s.entry = &e;
          if (!nearest || distance(part, e.id) < distance(part, nearest->id))
            nearest = &e;
        }
        if (!s.entry)
          return Status(StatusCode::InvalidArgument,
                        fmt::format("--impl {}: unknown; did you mean {}? attn-bench list shows "
                                    "all; a plug-in is NAME=path.py:function",
                                    part, nearest->id));
        s.id = part;
      }
      for (const Selected &other : out)
        if (other.id == s.id)
          return Status(StatusCode::InvalidArgument, fmt::format("--impl {}: given twice", s.id));
      out.push_back(std::move(s));
    }
  }
  return out;
}

} // namespace attnc::bench
