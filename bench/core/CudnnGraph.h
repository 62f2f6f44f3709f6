// cuDNN's attention as a graph of its backend operations, from description to a plan that runs:
//
//   S = Q K^T;  S *= scale;  causal: S = row >= column ? S : lowest
//   P = exp(S - max S) / sum;  O = P V
//
// cuDNN recognises this pattern and runs it as one fused kernel; when it does not, building fails
// and nothing slower runs in its place.
#ifndef ATTNC_BENCH_CUDNNGRAPH_H
#define ATTNC_BENCH_CUDNNGRAPH_H

#include "CudnnApi.h"

#include <memory>
#include <vector>

namespace attnc::bench::cudnn {

/// Owns descriptors; destroyed in reverse order of creation.
class Descriptors {
public:
  explicit Descriptors(const Api &api) : api(api) {}
  ~Descriptors();
  Descriptors(const Descriptors &) = delete;

  /// A new descriptor, or null with the failure in status().
  Descriptor make(int type, const char *what);
  void set(Descriptor d, int attribute, int type, std::int64_t count, const void *values,
           const char *what);
  void setDescriptor(Descriptor d, int attribute, Descriptor value, const char *what);
  void finalize(Descriptor d, const char *what);

  /// The first failure; later calls do nothing.
  const Status &status() const { return first; }
  void fail(const Status &status);

private:
  const Api &api;
  std::vector<Descriptor> owned;
  Status first;
};

/// Addresses of one run.
struct Tensors {
  std::uint64_t q = 0, k = 0, v = 0, o = 0, workspace = 0;
};

class SdpaPlan {
public:
  ~SdpaPlan() {
    if (plan)
      api.destroyDescriptor(plan);
  }
  SdpaPlan(const SdpaPlan &) = delete;

  /// A null \p handle checks the graph and then finds no engine.
  /// \returns Unsupported where cuDNN has no engine for \p config, with what it said.
  static Result<std::unique_ptr<SdpaPlan>> create(const Api &api, Handle handle,
                                                  const Config &config);

  std::int64_t workspaceBytes() const { return workspace; }
  /// cuDNN's global index of the engine, and how many candidates its heuristics offered.
  std::int64_t engine() const { return engineIndex; }
  std::int64_t candidates() const { return offered; }

  Status run(const Tensors &tensors);

private:
  SdpaPlan(const Api &api, Handle handle) : api(api), handle(handle), descriptors(api) {}
  Descriptor describe(const Config &config);
  bool choose(Descriptor graph);

  const Api &api;
  Handle handle;
  Descriptors descriptors;
  Descriptor plan = nullptr;
  std::int64_t workspace = 0, engineIndex = -1, offered = 0;
  bool causal = false;
  float scale = 1, lowest = 0;
};

} // namespace attnc::bench::cudnn

#endif // ATTNC_BENCH_CUDNNGRAPH_H
