// Implementations that run in this process: what differs between them is how a launch is built.
// Preparing is the same for all: poison the output, launch, check against fp64, probe, time.
#ifndef ATTNC_BENCH_INPROCESS_H
#define ATTNC_BENCH_INPROCESS_H

#include "GpuTimer.h"
#include "Implementation.h"
#include "Spec.h"
#include "Truth.h"

namespace attnc::bench {

/// The cell that is being measured, shared by all implementations.
struct GpuCell {
  const GpuContext &context;
  Config config;
  GpuTensors tensors;
  std::unique_ptr<Truth> truth;
};

/// A launch that was built for a cell; owns what it needs.
class Launchable {
public:
  virtual ~Launchable() = default;
  /// Enqueues on the context's stream, reading input copy \p copy and writing the cell's output.
  virtual Status launch(int copy) = 0;
  /// Device memory it took beyond the tensors.
  virtual std::int64_t extraBytes() const { return 0; }
  virtual Json versions() const { return Json::object(); }
  virtual std::optional<std::string> specHash() const { return std::nullopt; }
  /// Members to add to the row's `dispatch` (an engine's number, a split count).
  virtual Json dispatchDetails() const { return Json::object(); }
};

class LaunchBuilder {
public:
  virtual ~LaunchBuilder() = default;
  virtual std::string family() const = 0;
  virtual double predictBytes(const Config &) const { return 0; }
  virtual Result<std::unique_ptr<Launchable>> build(GpuCell &cell) = 0;
};

/// \p cell points to the machine's current cell and is read at each prepare.
std::unique_ptr<Implementation> makeInProcess(std::string id, std::string regime,
                                              std::unique_ptr<LaunchBuilder> builder,
                                              const std::unique_ptr<GpuCell> &cell);

std::unique_ptr<LaunchBuilder> makeAttncBuilder(const GpuContext &context, PackageSource packages);
std::unique_ptr<LaunchBuilder> makeNaiveBuilder(const GpuContext &context);
std::unique_ptr<LaunchBuilder> makeFlashBuilder(const GpuContext &context);
std::unique_ptr<LaunchBuilder> makeDecodeBuilder(const GpuContext &context);
std::unique_ptr<LaunchBuilder> makeCudnnBuilder(const GpuContext &context);

} // namespace attnc::bench

#endif // ATTNC_BENCH_INPROCESS_H
