// Launching the reference and reading its statistics.
#include "Truth.h"

#include "Inputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace attnc::bench {

std::vector<std::int64_t> rowsToCheck(std::int64_t heads, std::int64_t lenQ, std::int64_t most) {
  std::vector<std::int64_t> out;
  const std::int64_t perHead = std::max<std::int64_t>(4, most / std::max<std::int64_t>(1, heads));
  for (std::int64_t h = 0; h < heads; ++h) {
    if (lenQ <= perHead) {
      for (std::int64_t i = 0; i < lenQ; ++i)
        out.push_back(h * lenQ + i);
      continue;
    }
    std::set<std::int64_t> chosen = {0, 1, lenQ - 2, lenQ - 1};
    // Any fixed generator does; the golden ratio spreads well, the head shifts it.
    std::uint64_t state = std::uint64_t(h) * 0x9e3779b97f4a7c15u + 1;
    while (std::int64_t(chosen.size()) < perHead) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      chosen.insert(std::int64_t((state >> 33) % std::uint64_t(lenQ)));
    }
    for (std::int64_t i : chosen)
      out.push_back(h * lenQ + i);
  }
  return out;
}

Result<std::unique_ptr<Truth>> Truth::make(const GpuContext &context, const Config &config,
                                           const GpuTensors &tensors) {
  std::unique_ptr<Truth> out(new Truth(context));
  out->config = config;
  out->totalRows = config.batch * config.hq * config.lenQ();
  const std::vector<std::int64_t> rows = rowsToCheck(config.batch * config.hq, config.lenQ(),
                                                     std::int64_t(maxPairs / double(config.n)));
  out->rowCount = std::int64_t(rows.size());
  const std::shared_ptr<rt::Device> &device = context.device();
  const int blocks =
      int(std::min<std::int64_t>(out->rowCount, 8 * context.properties().multiprocessors));
  const std::size_t values = std::size_t(out->rowCount * config.headDim) * 8;
  Result<rt::Buffer> rowBuffer = rt::Buffer::allocate(device, rows.size() * 8),
                     reference = rt::Buffer::allocate(device, values),
                     plain = rt::Buffer::allocate(device, values),
                     stats = rt::Buffer::allocate(device, rows.size() * 7 * 8),
                     scratch = rt::Buffer::allocate(device, std::size_t(blocks) *
                                                                std::size_t(config.n) * 4);
  for (const Result<rt::Buffer> *b : {&rowBuffer, &reference, &plain, &stats, &scratch})
    if (!b->ok())
      return b->status();
  const rt::Stream &stream = context.stream();
  const GpuTensors::Copy &in = tensors.copies.front();
  const Variant variant = *config.parsedVariant();
  const double scale = 1 / std::sqrt(double(config.headDim));
  const int count = int(out->rowCount), hq = int(config.hq), hkv = int(config.hkv),
            dim = int(config.headDim), dtype = dtypeCode(config.dtype), causal = config.causal,
            kind = int(variant.kind);
  for (Status s :
       {rowBuffer->upload(rows.data(), rows.size() * 8, stream), reference->fill(0xff, stream),
        launchKernel(context.kernel("bench_reference"), blocks, 256, 0, context.handle(),
                     in.q.address(), in.k.address(), in.v.address(), reference->address(),
                     rowBuffer->address(), count, hq, hkv, config.lenQ(), config.n, dim, dtype,
                     causal, kind, variant.value, scale),
        launchKernel(context.kernel("bench_plain"), blocks, 256, 0, context.handle(),
                     in.q.address(), in.k.address(), in.v.address(), plain->address(),
                     rowBuffer->address(), count, hq, hkv, config.lenQ(), config.n, dim, dtype,
                     causal, kind, variant.value, scale, scratch->address()),
        stream.synchronize()})
    if (!s.ok())
      return s.withContext("fp64 reference");
  out->rows = std::make_unique<rt::Buffer>(std::move(*rowBuffer));
  out->reference = std::make_unique<rt::Buffer>(std::move(*reference));
  out->stats = std::make_unique<rt::Buffer>(std::move(*stats));
  Result<Errors> naive = out->compare(plain->address(), 3, true);
  if (!naive.ok())
    return naive.status();
  out->naiveMaxAbs = naive->maxAbs;
  return out;
}

Result<Truth::Errors> Truth::compare(std::uint64_t address, int dtype, bool compact) const {
  const rt::Stream &stream = context.stream();
  std::vector<double> host(std::size_t(rowCount) * 7);
  const std::int64_t blocks = std::min<std::int64_t>((rowCount + 3) / 4, 65536);
  for (Status s : {launchKernel(context.kernel("bench_compare"), blocks, 128, 0, context.handle(),
                                address, reference->address(), rows->address(), int(rowCount),
                                int(config.headDim), dtype, int(compact), stats->address()),
                   stats->download(host.data(), host.size() * 8, stream), stream.synchronize()})
    if (!s.ok())
      return s.withContext("comparison");
  Errors out;
  for (std::int64_t r = 0; r < rowCount; ++r) {
    const double *s = host.data() + r * 7;
    out.maxAbs = std::max(out.maxAbs, s[0]);
    out.maxRel = std::max(out.maxRel, s[1]);
    if (s[3] > 0 && s[4] > 0)
      out.minCos = std::min(out.minCos, s[2] / std::sqrt(s[3] * s[4]));
    out.nonFinite += s[5];
    out.big = std::max(out.big, s[6]);
  }
  return out;
}

Result<Json> Truth::check(std::uint64_t address) const {
  Result<Errors> errors = compare(address, dtypeCode(config.dtype), false);
  if (!errors.ok())
    return errors.status();
  const rt::Stream &stream = context.stream();
  const std::uint64_t n = std::uint64_t(config.qElements());
  std::uint64_t bad = 0;
  for (Status s :
       {stats->upload(&bad, 8, stream), stream.synchronize(),
        launchKernel(context.kernel("bench_count_nonfinite"),
                     std::min<std::int64_t>(std::int64_t((n + 255) / 256), 65536), 256, 0,
                     context.handle(), address, n, dtypeCode(config.dtype), stats->address()),
        stats->download(&bad, 8, stream), stream.synchronize()})
    if (!s.ok())
      return s.withContext("comparison");
  const double unit = config.dtype == "bf16" ? 0x1p-9 : config.dtype == "fp16" ? 0x1p-12 : 0x1p-24;
  const double allowed = 2 * naiveMaxAbs + unit * errors->big;
  Json out;
  const bool pass = bad == 0 && errors->maxAbs <= allowed;
  out["pass"] = pass;
  out["max_abs"] = errors->maxAbs;
  out["max_rel"] = errors->maxRel;
  out["min_cos"] = errors->minCos;
  out["vs_baseline"] = naiveMaxAbs > 0 ? Json(errors->maxAbs / naiveMaxAbs) : Json(nullptr);
  out["rows_checked"] = rowCount;
  out["rows"] = totalRows;
  if (bad)
    out["why"] = fmt::format("{} of {} values were not written or are no number", bad, n);
  else if (!pass)
    out["why"] = fmt::format("largest error against fp64 {:.3g}, allowed {:.3g} (twice the naive "
                             "implementation's {:.3g})",
                             errors->maxAbs, allowed, naiveMaxAbs);
  return out;
}

Status Truth::selfCheck(const GpuContext &context) {
  for (const char *variant : {"", "softcap-5", "alibi", "window-7", "document-9"})
    for (const char *dtype : {"bf16", "fp16", "fp32"}) {
      Config c;
      c.regime = *variant || dtype[0] == 'b' ? "prefill" : "decode";
      c.batch = 2;
      c.n = 37;
      c.hq = 6;
      c.hkv = 2;
      c.headDim = 40;
      c.dtype = dtype;
      c.causal = true;
      if (*variant)
        c.variant = variant;
      Result<GpuTensors> tensors = context.makeTensors(c, 1);
      if (!tensors.ok())
        return tensors.status();
      Result<std::unique_ptr<Truth>> truth = make(context, c, *tensors);
      if (!truth.ok())
        return truth.status();
      const std::vector<double> want = cpuAttention(c, context.seed());
      std::vector<double> got(want.size());
      for (Status s : {(*truth)->reference->download(got.data(), got.size() * 8, context.stream()),
                       context.stream().synchronize()})
        if (!s.ok())
          return s;
      double worst = 0;
      bool wrong = false;
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(got[i] - want[i]);
        wrong |= !(error < 1e-12); // so that a NaN is wrong
        worst = std::max(worst, error);
      }
      if (wrong)
        return {StatusCode::WrongResult,
                fmt::format("the fp64 reference on the GPU differs from the CPU's by {} for {}; "
                            "no result can be checked",
                            worst, c.label())};
    }
  return {};
}

} // namespace attnc::bench
