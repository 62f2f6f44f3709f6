// The hand-written baselines of baselines/*.cu.inc: built by NVRTC for the cell, launched here.
#include "InProcess.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnc::bench {

namespace {

const char *const naiveSource =
#include "naive.cu.inc"
    ;
const char *const flashSource =
#include "flash.cu.inc"
    ;
const char *const decodeSource =
#include "decode.cu.inc"
    ;

Status unsupported(const std::string &text) { return {StatusCode::Unsupported, text}; }

/// What no hand-written kernel does.
Status refuseSpecial(const Config &c) {
  if (c.variant)
    return unsupported("the hand-written kernels have no variants; found " + *c.variant);
  if (c.pageSize)
    return unsupported("the hand-written kernels read a contiguous KV cache only");
  return {};
}

/// Modules by their options, so that a suite compiles each once.
class ModuleCache {
public:
  ModuleCache(const GpuContext &context, const char *source, std::string name)
      : context(context), source(source), name(std::move(name)) {}

  Result<rt::Kernel> kernel(const std::vector<std::string> &options, const std::string &entry,
                            std::int64_t sharedBytes) {
    std::string key;
    for (const std::string &o : options)
      key += o + " ";
    auto found = modules.find(key);
    if (found == modules.end()) {
      Result<std::shared_ptr<rt::Module>> module = context.compile(source, name, options);
      if (!module.ok())
        return module.status();
      found = modules.emplace(key, *module).first;
    }
    return found->second->kernel(entry, sharedBytes);
  }

private:
  const GpuContext &context;
  const char *source;
  std::string name;
  std::map<std::string, std::shared_ptr<rt::Module>> modules;
};

std::string dtypeOption(const Config &c) { return fmt::format("-DDT={}", dtypeCode(c.dtype)); }

class NaiveLaunch : public Launchable {
public:
  NaiveLaunch(GpuCell &cell, rt::Buffer scores, rt::Buffer weights, std::vector<rt::Kernel> kernels)
      : cell(cell), scores(std::move(scores)), weights(std::move(weights)),
        kernels(std::move(kernels)) {}

  Status launch(int copy) override {
    const Config &c = cell.config;
    const GpuTensors::Copy &in = cell.tensors.copies[std::size_t(copy)];
    const rt::cuda::CUstream stream = cell.context.handle();
    const std::int64_t heads = c.batch * c.hq, lenQ = c.lenQ(), tilesM = (lenQ + 15) / 16;
    const int hq = int(c.hq), hkv = int(c.hkv), dim = int(c.headDim);
    const float scale = 1 / std::sqrt(float(dim));
    for (Status s : {launchKernel(kernels[0], heads * tilesM * ((c.n + 15) / 16), 256, 0, stream,
                                  in.q.address(), in.k.address(), scores.address(), hq, hkv, lenQ,
                                  c.n, dim, scale, int(c.causal)),
                     launchKernel(kernels[1], heads * lenQ, 256, 0, stream, scores.address(),
                                  weights.address(), c.n),
                     launchKernel(kernels[2], heads * tilesM * ((c.headDim + 15) / 16), 256, 0,
                                  stream, weights.address(), in.v.address(),
                                  cell.tensors.o->address(), hq, hkv, lenQ, c.n, dim)})
      if (!s.ok())
        return s;
    return {};
  }
  std::int64_t extraBytes() const override { return std::int64_t(scores.size() + weights.size()); }

private:
  GpuCell &cell;
  rt::Buffer scores, weights;
  std::vector<rt::Kernel> kernels;
};

class NaiveBuilder : public LaunchBuilder {
public:
  explicit NaiveBuilder(const GpuContext &context) : cache(context, naiveSource, "naive.cu") {}
  std::string family() const override { return "hand-written"; }
  double predictBytes(const Config &c) const override {
    return double(c.batch * c.hq) * double(c.lenQ()) * double(c.n) * double(4 + c.elementBytes());
  }
  Result<std::unique_ptr<Launchable>> build(GpuCell &cell) override {
    const Config &c = cell.config;
    if (Status s = refuseSpecial(c); !s.ok())
      return s;
    std::vector<rt::Kernel> kernels;
    for (const char *entry : {"naive_scores", "naive_softmax", "naive_output"}) {
      Result<rt::Kernel> kernel = cache.kernel({dtypeOption(c)}, entry, 0);
      if (!kernel.ok())
        return kernel.status();
      kernels.push_back(*kernel);
    }
    const std::int64_t scores = c.batch * c.hq * c.lenQ() * c.n;
    Result<rt::Buffer> s = rt::Buffer::allocate(cell.context.device(), std::size_t(scores * 4)),
                       p = rt::Buffer::allocate(cell.context.device(),
                                                std::size_t(scores * c.elementBytes()));
    if (!s.ok() || !p.ok())
      return s.ok() ? p.status() : s.status();
    return std::unique_ptr<Launchable>(
        std::make_unique<NaiveLaunch>(cell, std::move(*s), std::move(*p), std::move(kernels)));
  }

private:
  ModuleCache cache;
};

class FlashLaunch : public Launchable {
public:
  FlashLaunch(GpuCell &cell, rt::Kernel kernel, std::int64_t sharedBytes)
      : cell(cell), kernel(std::move(kernel)), sharedBytes(sharedBytes) {}
  Status launch(int copy) override {
    const Config &c = cell.config;
    const GpuTensors::Copy &in = cell.tensors.copies[std::size_t(copy)];
    const float scaleLog2 = 1.44269504f / std::sqrt(float(c.headDim));
    return launchKernel(kernel, c.batch * c.hq * ((c.lenQ() + 63) / 64), 128, sharedBytes,
                        cell.context.handle(), in.q.address(), in.k.address(), in.v.address(),
                        cell.tensors.o->address(), int(c.hq), int(c.hkv), c.lenQ(), c.n, scaleLog2);
  }

private:
  GpuCell &cell;
  rt::Kernel kernel;
  std::int64_t sharedBytes;
};

class FlashBuilder : public LaunchBuilder {
public:
  explicit FlashBuilder(const GpuContext &context) : cache(context, flashSource, "flash.cu") {}
  std::string family() const override { return "hand-written"; }
  Result<std::unique_ptr<Launchable>> build(GpuCell &cell) override {
    const Config &c = cell.config;
    if (Status s = refuseSpecial(c); !s.ok())
      return s;
    if (c.dtype == "fp32")
      return unsupported("the hand-written flash kernel takes bf16 and fp16; found fp32");
    if (c.headDim % 32 || c.headDim > 256)
      return unsupported(fmt::format("the hand-written flash kernel takes head dimensions that "
                                     "are multiples of 32 up to 256; found {}",
                                     c.headDim));
    if (cell.context.properties().computeMajor < 8)
      return unsupported("the hand-written flash kernel needs sm_80 or later");
    const std::int64_t bn = c.headDim <= 128 ? 64 : 32;
    const std::int64_t sharedBytes = (64 + 2 * bn) * (c.headDim + 8) * 2;
    Result<rt::Kernel> kernel = cache.kernel({fmt::format("-DD={}", c.headDim), dtypeOption(c),
                                              fmt::format("-DCAUSAL={}", int(c.causal))},
                                             "flash_forward", sharedBytes);
    if (!kernel.ok())
      return kernel.status();
    return std::unique_ptr<Launchable>(std::make_unique<FlashLaunch>(cell, *kernel, sharedBytes));
  }

private:
  ModuleCache cache;
};

class DecodeLaunch : public Launchable {
public:
  DecodeLaunch(GpuCell &cell, rt::Kernel split, rt::Kernel combine, rt::Buffer workspace,
               int splits, int heads)
      : cell(cell), split(std::move(split)), combine(std::move(combine)),
        workspace(std::move(workspace)), splits(splits), heads(heads) {}

  Status launch(int copy) override {
    const Config &c = cell.config;
    const GpuTensors::Copy &in = cell.tensors.copies[std::size_t(copy)];
    const std::int64_t rows = c.batch * c.hq, group = c.hq / c.hkv;
    const std::int64_t chunks = (group + heads - 1) / heads;
    const std::uint64_t part = workspace.address(),
                        partM = part + std::uint64_t(splits * rows * c.headDim * 4),
                        partL = partM + std::uint64_t(splits * rows * 4);
    const float scaleLog2 = 1.44269504f / std::sqrt(float(c.headDim));
    for (Status s :
         {launchKernel(split, c.batch * c.hkv * chunks * splits, 128, 0, cell.context.handle(),
                       in.q.address(), in.k.address(), in.v.address(), part, partM, partL,
                       int(c.batch), int(c.hq), int(c.hkv), c.n, splits, scaleLog2),
          launchKernel(combine, rows, int(c.headDim), 0, cell.context.handle(), part, partM, partL,
                       cell.tensors.o->address(), int(rows), splits)})
      if (!s.ok())
        return s;
    return {};
  }
  std::int64_t extraBytes() const override { return std::int64_t(workspace.size()); }
  Json dispatchDetails() const override { return {{"splits", splits}}; }

private:
  GpuCell &cell;
  rt::Kernel split, combine;
  rt::Buffer workspace;
  int splits, heads;
};

class DecodeBuilder : public LaunchBuilder {
public:
  explicit DecodeBuilder(const GpuContext &context) : cache(context, decodeSource, "decode.cu") {}
  std::string family() const override { return "hand-written"; }
  Result<std::unique_ptr<Launchable>> build(GpuCell &cell) override {
    const Config &c = cell.config;
    if (Status s = refuseSpecial(c); !s.ok())
      return s;
    if (c.dtype == "fp32")
      return unsupported("the hand-written decode kernel takes bf16 and fp16; found fp32");
    if (c.headDim % 64 || c.headDim > 256)
      return unsupported(fmt::format("the hand-written decode kernel takes head dimensions 64, "
                                     "128, 192 and 256; found {}",
                                     c.headDim));
    // Static shared memory: 16 partial states of G heads.
    const int most = int(std::min<std::int64_t>(4, 512 / c.headDim));
    const int heads = int(std::min<std::int64_t>(c.hq / c.hkv, most));
    const std::int64_t chunks = (c.hq / c.hkv + heads - 1) / heads;
    const std::int64_t work = c.batch * c.hkv * chunks;
    const std::int64_t wanted = (4 * cell.context.properties().multiprocessors + work - 1) / work;
    const int splits =
        int(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, (c.n + 127) / 128)));
    const std::vector<std::string> options = {fmt::format("-DD={}", c.headDim), dtypeOption(c),
                                              fmt::format("-DG={}", heads)};
    Result<rt::Kernel> split = cache.kernel(options, "decode_split", 0),
                       combine = cache.kernel(options, "decode_combine", 0);
    if (!split.ok() || !combine.ok())
      return split.ok() ? combine.status() : split.status();
    const std::int64_t rows = c.batch * c.hq;
    Result<rt::Buffer> workspace = rt::Buffer::allocate(
        cell.context.device(), std::size_t(splits * rows * (c.headDim + 2) * 4));
    if (!workspace.ok())
      return workspace.status();
    return std::unique_ptr<Launchable>(std::make_unique<DecodeLaunch>(
        cell, *split, *combine, std::move(*workspace), splits, heads));
  }

private:
  ModuleCache cache;
};

} // namespace

std::unique_ptr<LaunchBuilder> makeNaiveBuilder(const GpuContext &context) {
  return std::make_unique<NaiveBuilder>(context);
}
std::unique_ptr<LaunchBuilder> makeFlashBuilder(const GpuContext &context) {
  return std::make_unique<FlashBuilder>(context);
}
std::unique_ptr<LaunchBuilder> makeDecodeBuilder(const GpuContext &context) {
  return std::make_unique<DecodeBuilder>(context);
}

} // namespace attnc::bench
