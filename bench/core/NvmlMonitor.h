// Clocks, power, temperature and throttle reasons, sampled by a thread through NVML while the bench
// runs. Without NVML it samples nothing and the row says null.
#ifndef ATTNC_BENCH_NVMLMONITOR_H
#define ATTNC_BENCH_NVMLMONITOR_H

#include "Config.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attnc::bench {

struct MonitorSample {
  double time = 0; ///< steadySeconds()
  unsigned smMhz = 0, memMhz = 0, milliwatts = 0, celsius = 0;
  unsigned long long throttle = 0; ///< NVML's bits
};

/// The row's `clocks`, `power_w`, `temperature_c` and `throttle` from the samples that fall into
/// the windows; a window shorter than the sampling takes the sample nearest to it.
Json summarizeWindow(const std::vector<MonitorSample> &samples,
                     const std::vector<std::pair<double, double>> &windows);

class NvmlMonitor {
public:
  /// \p pciBusId as the driver gives it. Never null; without NVML it stays empty.
  static std::unique_ptr<NvmlMonitor> start(const std::string &pciBusId);
  virtual ~NvmlMonitor() = default;
  virtual Json window(const std::vector<std::pair<double, double>> &windows) = 0;
  /// "GPU-…", or empty.
  virtual std::string uuid() const = 0;
  /// The driver's version, or empty.
  virtual std::string driverVersion() const = 0;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_NVMLMONITOR_H
