// The sampling thread and what is made of its samples.
#include "NvmlMonitor.h"

#include "Progress.h"
#include "Statistics.h"

#include "attnc/Runtime/CudaApis.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

namespace attnc::bench {

namespace {

using rt::cuda::NvmlApi;
using rt::cuda::NvmlDevice;

// NVML's clock types and temperature sensor.
constexpr int clockSm = 1, clockMemory = 2, sensorGpu = 0;

struct ThrottleReason {
  unsigned long long bit;
  const char *name;
};
// Idle (bit 0) and clocks set by an application (bit 1) slow nothing down unasked.
constexpr ThrottleReason reasons[] = {
    {0x4, "sw_power_cap"},           {0x8, "hw_slowdown"},          {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},   {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake"},
    {0x100, "display_clock_setting"}};

class Monitor : public NvmlMonitor {
public:
  ~Monitor() override {
    stop = true;
    if (thread.joinable())
      thread.join();
  }

  void open(const std::string &pciBusId) {
    Result<const NvmlApi *> loaded = rt::nvmlApi();
    if (!loaded.ok())
      return;
    api = *loaded;
    if (api->nvmlInit() != 0 ||
        api->nvmlDeviceGetHandleByPciBusId(pciBusId.c_str(), &device) != 0) {
      api = nullptr;
      return;
    }
    char text[96] = "";
    if (api->nvmlDeviceGetUUID(device, text, sizeof text) == 0)
      id = text;
    if (api->nvmlSystemGetDriverVersion(text, sizeof text) == 0)
      driver = text;
    thread = std::thread([this] {
      while (!stop) {
        take();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }

  Json window(const std::vector<std::pair<double, double>> &windows) override {
    std::lock_guard<std::mutex> hold(lock);
    return summarizeWindow(samples, windows);
  }
  std::string uuid() const override { return id; }
  std::string driverVersion() const override { return driver; }

private:
  void take() {
    MonitorSample s;
    s.time = steadySeconds();
    api->nvmlDeviceGetClockInfo(device, clockSm, &s.smMhz);
    api->nvmlDeviceGetClockInfo(device, clockMemory, &s.memMhz);
    api->nvmlDeviceGetPowerUsage(device, &s.milliwatts);
    api->nvmlDeviceGetTemperature(device, sensorGpu, &s.celsius);
    api->nvmlDeviceGetCurrentClocksThrottleReasons(device, &s.throttle);
    std::lock_guard<std::mutex> hold(lock);
    samples.push_back(s);
    // Ten minutes are more than any repetition takes.
    if (samples.size() > 60000)
      samples.erase(samples.begin(), samples.begin() + 30000);
  }

  const NvmlApi *api = nullptr;
  NvmlDevice device = nullptr;
  std::string id, driver;
  std::atomic<bool> stop{false};
  std::mutex lock;
  std::vector<MonitorSample> samples;
  std::thread thread;
};

} // namespace

Json summarizeWindow(const std::vector<MonitorSample> &samples,
                     const std::vector<std::pair<double, double>> &windows) {
  Json out = {
      {"clocks", nullptr}, {"power_w", nullptr}, {"temperature_c", nullptr}, {"throttle", nullptr}};
  std::vector<const MonitorSample *> inside;
  for (const auto &[begin, end] : windows) {
    const MonitorSample *nearest = nullptr;
    bool any = false;
    for (const MonitorSample &s : samples) {
      if (s.time >= begin && s.time <= end) {
        inside.push_back(&s);
        any = true;
      }
      const auto gap = [&](const MonitorSample &x) {
        return std::max({begin - x.time, x.time - end, 0.0});
      };
      if (!nearest || gap(s) < gap(*nearest))
        nearest = &s;
    }
    if (!any && nearest && std::abs(nearest->time - begin) < 0.1)
      inside.push_back(nearest);
  }
  if (inside.empty())
    return out;
  const auto values = [&](auto field) {
    std::vector<double> v;
    for (const MonitorSample *s : inside)
      v.push_back(double(s->*field));
    return v;
  };
  const std::vector<double> sm = values(&MonitorSample::smMhz);
  out["clocks"] = {{"sm_mhz", median(sm)},
                   {"sm_mhz_min", *std::min_element(sm.begin(), sm.end())},
                   {"mem_mhz", median(values(&MonitorSample::memMhz))}};
  out["power_w"] = median(values(&MonitorSample::milliwatts)) / 1000;
  out["temperature_c"] = median(values(&MonitorSample::celsius));
  Json throttle = Json::array();
  for (const ThrottleReason &reason : reasons)
    for (const MonitorSample *s : inside)
      if (s->throttle & reason.bit) {
        throttle.push_back(reason.name);
        break;
      }
  out["throttle"] = throttle;
  return out;
}

std::unique_ptr<NvmlMonitor> NvmlMonitor::start(const std::string &pciBusId) {
  auto monitor = std::make_unique<Monitor>();
  monitor->open(pciBusId);
  return monitor;
}

} // namespace attnc::bench
