// Opening the GPU for the bench.
#include "GpuContext.h"

#include "Inputs.h"
#include "Spec.h"
#include "Statistics.h"

#include "attnc/Runtime/Nvrtc.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::bench {

static const char *const truthSource =
#include "truth.cu.inc"
    ;

int dtypeCode(const std::string &dtype) { return dtype == "bf16" ? 0 : dtype == "fp16" ? 1 : 2; }

Result<std::unique_ptr<GpuContext>> GpuContext::open(int ordinal, std::uint64_t seed) {
  std::unique_ptr<GpuContext> out(new GpuContext());
  out->inputSeed = seed;
  Result<std::shared_ptr<rt::Device>> device = rt::Device::open(ordinal);
  if (!device.ok())
    return device.status();
  out->gpu = *device;
  Result<rt::Stream> stream = rt::Stream::create(out->gpu);
  if (!stream.ok())
    return stream.status();
  out->work = std::make_unique<rt::Stream>(std::move(*stream));
  const std::int64_t bytes =
      std::max<std::int64_t>(3 * out->properties().l2Bytes, std::int64_t(64) << 20);
  Result<rt::Buffer> scratch = rt::Buffer::allocate(out->gpu, std::size_t(bytes));
  if (!scratch.ok())
    return scratch.status();
  out->scratch = std::make_unique<rt::Buffer>(std::move(*scratch));
  if (Status s = out->compileOwnKernels(); !s.ok())
    return s.withContext("the bench's own kernels");
  if (Status s = out->measureDevice(); !s.ok())
    return s.withContext("measuring the device");
  return out;
}

Result<std::shared_ptr<rt::Module>>
GpuContext::compile(const char *source, const std::string &name,
                    const std::vector<std::string> &options) const {
  rt::NvrtcOptions nvrtc;
  nvrtc.name = name;
  nvrtc.options = options;
  nvrtc.toolkitHeaders = false;
  Result<rt::NvrtcResult> compiled = rt::compileCuda(source, targetOf(properties().sm), nvrtc);
  if (!compiled.ok())
    return compiled.status();
  return rt::Module::load(gpu, compiled->assembled.cubin, name);
}

Status GpuContext::compileOwnKernels() {
  Result<std::shared_ptr<rt::Module>> module = compile(truthSource, "truth.cu", {});
  if (!module.ok())
    return module.status();
  for (const char *entry : {"bench_fill", "bench_reference", "bench_plain", "bench_compare",
                            "bench_count_nonfinite", "bench_read"}) {
    Result<rt::Kernel> kernel = (*module)->kernel(entry, 0);
    if (!kernel.ok())
      return kernel.status();
    kernels.push_back(*kernel);
  }
  return {};
}

const rt::Kernel &GpuContext::kernel(const char *entry) const {
  for (const rt::Kernel &k : kernels)
    if (k.name() == entry)
      return k;
  std::abort(); // A name that compileOwnKernels does not list: our bug.
}

Status GpuContext::flush() const { return scratch->fill(0x5a, *work); }

Result<GpuTensors> GpuContext::makeTensors(const Config &c, int copies) const {
  GpuTensors out;
  const auto allocate = [&](std::int64_t elements) {
    return rt::Buffer::allocate(gpu, std::size_t(elements * c.elementBytes()));
  };
  const auto fill = [&](const rt::Buffer &buffer, std::int64_t n, InputTensor tensor) {
    const std::int64_t blocks = std::min<std::int64_t>((n + 255) / 256, 65536);
    return launchKernel(kernel("bench_fill"), blocks, 256, 0, handle(), buffer.address(),
                        std::uint64_t(n), seed(), std::uint32_t(tensor), dtypeCode(c.dtype));
  };
  for (int i = 0; i < copies; ++i) {
    Result<rt::Buffer> q = allocate(c.qElements()), k = allocate(c.kvElements()),
                       v = allocate(c.kvElements());
    for (const Result<rt::Buffer> *b : {&q, &k, &v})
      if (!b->ok())
        return b->status();
    for (Status s :
         {fill(*q, c.qElements(), InputTensor::Q), fill(*k, c.kvElements(), InputTensor::K),
          fill(*v, c.kvElements(), InputTensor::V)})
      if (!s.ok())
        return s;
    out.copies.push_back({std::move(*q), std::move(*k), std::move(*v)});
  }
  Result<rt::Buffer> o = allocate(c.qElements());
  if (!o.ok())
    return o.status();
  out.o = std::make_unique<rt::Buffer>(std::move(*o));
  if (Status s = work->synchronize(); !s.ok())
    return s;
  return out;
}

Status GpuContext::measureDevice() {
  Result<rt::Event> begin = rt::Event::create(gpu), end = rt::Event::create(gpu);
  if (!begin.ok() || !end.ok())
    return begin.ok() ? end.status() : begin.status();
  const auto timed = [&](const std::function<Status()> &body) -> Result<double> {
    for (Status s : {begin->record(*work), body(), end->record(*work), work->synchronize()})
      if (!s.ok())
        return s;
    Result<float> ms = end->elapsedSince(*begin);
    if (!ms.ok())
      return ms.status();
    return double(*ms) * 1000;
  };
  std::vector<double> empty;
  for (int i = 0; i < 20; ++i) {
    Result<double> us = timed([] { return Status(); });
    if (!us.ok())
      return us.status();
    empty.push_back(*us);
  }
  eventTime = median(empty);

  Result<rt::Device::MemoryInfo> memory = gpu->memoryInfo();
  if (!memory.ok())
    return memory.status();
  // Far more than the L2, little of the memory.
  const std::int64_t bytes =
      std::min<std::int64_t>(std::int64_t(4) << 30, memory->freeBytes / 4) / 256 * 256;
  Result<rt::Buffer> buffer = rt::Buffer::allocate(gpu, std::size_t(bytes));
  if (!buffer.ok())
    return buffer.status();
  if (Status s = buffer->fill(0x11, *work); !s.ok())
    return s;
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    Result<double> us = timed([&] {
      return launchKernel(kernel("bench_read"), 4 * properties().multiprocessors, 512, 0, handle(),
                          buffer->address(), std::uint64_t(bytes / 16), scratch->address());
    });
    if (!us.ok())
      return us.status();
    if (i > 1 && *us > 0)
      best = std::max(best, double(bytes) / *us / 1e3);
  }
  bandwidth = best;
  return {};
}

std::string GpuContext::lost() const {
  const Status s = gpu->synchronize();
  return s.ok() ? "" : s.message();
}

} // namespace attnc::bench
