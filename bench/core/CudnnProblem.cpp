// From a cell to what cuDNN is asked; the same with and without cuDNN.
#include "CudnnSdpa.h"

#include <cmath>
#include <fmt/format.h>

namespace attnc::bench::cudnn {

Result<Problem> Problem::of(const Config &c) {
  const auto refuse = [](const std::string &text) { return Status(StatusCode::Unsupported, text); };
  if (c.dtype == "fp32")
    return refuse("cuDNN's fused attention takes bf16 and fp16; found fp32");
  Result<Variant> variant = c.parsedVariant();
  if (!variant.ok())
    return variant.status();
  Problem p;
  p.batch = c.batch;
  p.hq = c.hq;
  p.hkv = c.hkv;
  p.lenQ = c.lenQ();
  p.lenKv = c.n;
  p.headDim = c.headDim;
  p.dtype = c.dtype;
  // One query at the end of its keys sees them all, causal or not.
  p.causal = c.causal && !c.decode();
  if (c.pageSize) {
    p.pageSize = c.pageSize;
    p.pages = c.batch * ((c.n + *c.pageSize - 1) / *c.pageSize);
  }
  switch (variant->kind) {
  case Variant::Kind::None:
    break;
  case Variant::Kind::Softcap:
    p.softcap = float(variant->value);
    break;
  case Variant::Kind::Alibi:
    p.alibi = true;
    break;
  case Variant::Kind::Window:
    p.window = std::llround(variant->value);
    break;
  case Variant::Kind::Document:
    return refuse("cuDNN has no document mask on packed sequences of one tensor; found variant " +
                  *c.variant);
  }
  return p;
}

std::vector<float> alibiSlopes(std::int64_t heads) {
  std::int64_t n = 1;
  while (n * 2 <= heads)
    n *= 2;
  std::vector<float> out;
  for (std::int64_t h = 0; h < heads; ++h)
    out.push_back(float(h < n ? std::exp2(-8.0 * double(h + 1) / double(n))
                              : std::exp2(-4.0 * double(2 * (h - n) + 1) / double(n))));
  return out;
}

} // namespace attnc::bench::cudnn
