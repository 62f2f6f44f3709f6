// The GPU as a machine of the runner: cells, truth, facts about the device.
#include "GpuMachine.h"

#include "GpuTimer.h"
#include "InProcess.h"
#include "NvmlMonitor.h"

#include <cmath>
#include <fmt/format.h>
#include <regex>

namespace attnc::bench {

std::string shortGpuName(const std::string &name) {
  static const std::regex model("(RTX (A?[0-9]{4})( Ti| SUPER| Ada)?|[A-Z]{1,3}[0-9]{1,4}[A-Z]?)");
  std::smatch match;
  return std::regex_search(name, match, model) ? match.str() : name;
}

static const char *architecture(int major, int minor) {
  if (major == 8)
    return minor == 9 ? "Ada" : "Ampere";
  return major == 9 ? "Hopper" : major >= 10 ? "Blackwell" : major == 7 ? "Volta or Turing" : "";
}

namespace {

class Gpu : public GpuMachine {
public:
  explicit Gpu(std::unique_ptr<GpuContext> context) : context(std::move(context)) {
    char bus[32] = "";
    const rt::cuda::DriverApi &api = this->context->device()->api();
    if (api.cuDeviceGetPCIBusId(bus, sizeof bus, this->context->properties().ordinal) ==
        rt::cuda::success)
      monitor = NvmlMonitor::start(bus);
    else
      monitor = NvmlMonitor::start("");
  }

  Json gpu() const override {
    const rt::DeviceProperties &p = context->properties();
    const std::string uuid = monitor->uuid();
    return {{"name", shortGpuName(p.name)},
            {"uuid", uuid.empty() ? Json(nullptr) : Json(uuid)},
            {"cc", fmt::format("sm{}{}", p.computeMajor, p.computeMinor)},
            {"arch", architecture(p.computeMajor, p.computeMinor)},
            {"sm", p.multiprocessors},
            {"mem_gb", std::round(double(p.totalBytes) / 1e7) / 100},
            {"l2_mb", std::round(double(p.l2Bytes) / 1e3) / 1e3},
            {"bw_gbs", std::round(context->bandwidthGbs() * 10) / 10},
            {"event_us", std::round(context->eventUs() * 1000) / 1000},
            {"driver", monitor->driverVersion()}};
  }

  double freeBytes() const override {
    Result<rt::Device::MemoryInfo> info = context->device()->memoryInfo();
    return info.ok() ? double(info->freeBytes) : 0;
  }

  std::optional<Refusal> beginCell(const Config &config) override {
    cell.reset();
    if (const std::string why = context->lost(); !why.empty())
      return Refusal{"ERROR", "the GPU context was lost by an earlier kernel: " + why};
    const int copies = copiesNeeded(config, context->properties().l2Bytes);
    const double bytes = double(config.tensorBytes()) * copies;
    if (bytes > 0.9 * freeBytes())
      return Refusal{"OOM_PREDICTED",
                     fmt::format("the tensors take {:.0f} MiB, {:.0f} MiB are free",
                                 bytes / (1 << 20), freeBytes() / (1 << 20))};
    Result<GpuTensors> tensors = context->makeTensors(config, copies);
    if (!tensors.ok())
      return refusalOf(tensors.status());
    cell.reset(new GpuCell{*context, config, std::move(*tensors), nullptr});
    Result<std::unique_ptr<Truth>> truth = Truth::make(*context, config, cell->tensors);
    if (!truth.ok()) {
      cell.reset();
      return refusalOf(truth.status());
    }
    cell->truth = std::move(*truth);
    return std::nullopt;
  }

  void endCell() override { cell.reset(); }

  std::optional<std::string> lost() override {
    const std::string why = context->lost();
    return why.empty() ? std::nullopt : std::optional<std::string>(why);
  }

  Json window(const std::vector<std::pair<double, double>> &windows) override {
    return monitor->window(windows);
  }

  Result<Json> check(const Config &config, const std::string &bytes) override {
    const std::size_t expected = std::size_t(config.qElements() * config.elementBytes());
    if (bytes.size() != expected)
      return Status(StatusCode::WrongResult,
                    fmt::format("the output has {} bytes, expected {}", bytes.size(), expected));
    for (Status s : {cell->tensors.o->upload(bytes.data(), bytes.size(), context->stream()),
                     context->stream().synchronize()})
      if (!s.ok())
        return s;
    return cell->truth->check(cell->tensors.o->address());
  }

  std::int64_t l2Bytes() const override { return context->properties().l2Bytes; }
  std::int64_t flushBytes() const override { return context->flushBytes(); }

  std::unique_ptr<Implementation> make(const Selected &selected,
                                       const PackageSource &packages) override {
    const CatalogueEntry &entry = *selected.entry;
    std::unique_ptr<LaunchBuilder> builder;
    switch (entry.backing) {
    case Backing::Attnc:
      builder = makeAttncBuilder(*context, packages);
      break;
    case Backing::Cudnn:
      builder = makeCudnnBuilder(*context);
      break;
    case Backing::HandNaive:
      builder = makeNaiveBuilder(*context);
      break;
    case Backing::Hand:
      builder = std::string(entry.regime) == "decode" ? makeDecodeBuilder(*context)
                                                      : makeFlashBuilder(*context);
      break;
    case Backing::Python:
      break; // Served by a worker; the caller does not ask here.
    }
    return makeInProcess(selected.id, entry.regime, std::move(builder), cell);
  }

private:
  std::unique_ptr<GpuContext> context;
  std::unique_ptr<NvmlMonitor> monitor;
  std::unique_ptr<GpuCell> cell;
};

} // namespace

Result<std::unique_ptr<GpuMachine>> GpuMachine::open(int ordinal, std::uint64_t seed) {
  Result<std::unique_ptr<GpuContext>> context = GpuContext::open(ordinal, seed);
  if (!context.ok())
    return context.status();
  if (Status s = Truth::selfCheck(**context); !s.ok())
    return s;
  return std::unique_ptr<GpuMachine>(std::make_unique<Gpu>(std::move(*context)));
}

} // namespace attnc::bench
