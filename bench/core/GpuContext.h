// What everything on the GPU shares: device, stream, the bench's own kernels, the cell's tensors,
// the L2 flush. No policy: what is timed and when is GpuTimer's and the runner's.
#ifndef ATTNC_BENCH_GPUCONTEXT_H
#define ATTNC_BENCH_GPUCONTEXT_H

#include "Config.h"

#include "attnc/Runtime/Buffer.h"
#include "attnc/Runtime/Module.h"
#include "attnc/Runtime/Stream.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnc::bench {

/// Launches with the arguments as the kernel declares them, by value.
template <typename... T>
Status launchKernel(const rt::Kernel &kernel, std::int64_t grid, int block,
                    std::int64_t sharedBytes, rt::cuda::CUstream stream, T... arguments) {
  void *pointers[] = {&arguments...};
  return kernel.launch(grid, block, sharedBytes, pointers, stream);
}

/// 0 bf16, 1 fp16, 2 fp32, as the kernels of baselines/ count.
int dtypeCode(const std::string &dtype);

/// The inputs of a cell, [B, H, S, D] contiguous, in several copies so that a cold measurement can
/// rotate; all copies are equal. One output.
struct GpuTensors {
  struct Copy {
    rt::Buffer q, k, v;
  };
  std::vector<Copy> copies;
  std::unique_ptr<rt::Buffer> o;
};

class GpuContext {
public:
  static Result<std::unique_ptr<GpuContext>> open(int ordinal, std::uint64_t seed);

  const std::shared_ptr<rt::Device> &device() const { return gpu; }
  const rt::Stream &stream() const { return *work; }
  rt::cuda::CUstream handle() const { return work->handle(); }
  const rt::DeviceProperties &properties() const { return gpu->properties(); }
  std::uint32_t seed() const { return std::uint32_t(inputSeed); }

  /// Bytes that `flush` writes: three times the L2, at least 64 MiB.
  std::int64_t flushBytes() const { return std::int64_t(scratch->size()); }
  /// Evicts the L2, in stream order.
  Status flush() const;

  /// Compiles \p source for this GPU. \p options as for nvcc.
  Result<std::shared_ptr<rt::Module>> compile(const char *source, const std::string &name,
                                              const std::vector<std::string> &options) const;

  /// An entry of truth.cu.inc.
  const rt::Kernel &kernel(const char *entry) const;

  /// Makes inputs for \p config: \p copies of them. \returns OutOfMemory.
  Result<GpuTensors> makeTensors(const Config &config, int copies) const;

  /// Measured read ceiling in 10^9 bytes/s, and microseconds between two events with nothing
  /// between.
  double bandwidthGbs() const { return bandwidth; }
  double eventUs() const { return eventTime; }

  /// A failed driver call after which the context is of no use; empty while all is well.
  std::string lost() const;

private:
  GpuContext() = default;
  Status compileOwnKernels();
  Status measureDevice();

  std::shared_ptr<rt::Device> gpu;
  std::unique_ptr<rt::Stream> work;
  std::unique_ptr<rt::Buffer> scratch;
  std::vector<rt::Kernel> kernels;
  std::uint64_t inputSeed = 1;
  double bandwidth = 0, eventTime = 0;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_GPUCONTEXT_H
