// Preparing an implementation in process.
#include "InProcess.h"

#include "KernelProbe.h"
#include "Progress.h"

namespace attnc::bench {

namespace {

/// Keeps the launch alive as long as its timer, whose graph refers to its memory.
class OwningTimed : public Timed {
public:
  OwningTimed(std::unique_ptr<Launchable> launchable, std::unique_ptr<Timed> timed)
      : launchable(std::move(launchable)), timed(std::move(timed)) {}
  std::variant<std::vector<double>, Refusal> sample(int count) override {
    return timed->sample(count);
  }

private:
  std::unique_ptr<Launchable> launchable;
  std::unique_ptr<Timed> timed;
};

class InProcess : public Implementation {
public:
  InProcess(std::string id, std::string regime, std::unique_ptr<LaunchBuilder> builder,
            const std::unique_ptr<GpuCell> &cell)
      : name(std::move(id)), cells(std::move(regime)), builder(std::move(builder)), cell(cell) {}

  const std::string &id() const override { return name; }
  std::string regime() const override { return cells; }
  double predictBytes(const Config &config) const override { return builder->predictBytes(config); }

  std::variant<Prepared, Refusal> prepare(const Config &config, Json &onIncorrect) override {
    if (config.mode != "fwd")
      return Refusal{"UNSUPPORTED", "attn-bench measures forward only; found mode " + config.mode};
    const GpuContext &context = cell->context;
    const rt::Stream &stream = context.stream();
    const double start = steadySeconds();
    Result<std::unique_ptr<Launchable>> built = builder->build(*cell);
    if (!built.ok())
      return refusalOf(built.status());
    std::unique_ptr<Launchable> launchable = std::move(*built);
    for (Status s : {cell->tensors.o->fill(0xff, stream), stream.synchronize()})
      if (!s.ok())
        return refusalOf(s);
    for (Status s : {launchable->launch(0), stream.synchronize()})
      if (!s.ok())
        return refusalOf(s);
    Prepared prepared;
    prepared.setupUs = (steadySeconds() - start) * 1e6;
    Result<Json> correctness = cell->truth->check(cell->tensors.o->address());
    if (!correctness.ok())
      return refusalOf(correctness.status());
    if (!correctness->at("pass").get<bool>()) {
      onIncorrect = *correctness;
      return Refusal{"INCORRECT", correctness->at("why").get<std::string>()};
    }
    prepared.correctness = *correctness;
    prepared.dispatch = probeKernels(builder->family(), [&] {
      for (Status s : {launchable->launch(0), stream.synchronize()})
        if (!s.ok())
          return s;
      return Status();
    });
    const Json details = launchable->dispatchDetails();
    for (const auto &item : details.items())
      prepared.dispatch[item.key()] = item.value();
    prepared.versions = launchable->versions();
    prepared.specHash = launchable->specHash();
    prepared.measuredMib = double(config.tensorBytes() + launchable->extraBytes()) / (1 << 20);
    prepared.kvExpanded = false;
    Launchable *raw = launchable.get();
    Result<std::unique_ptr<Timed>> timed =
        makeGpuTimed(context, config, int(cell->tensors.copies.size()),
                     [raw](int copy) { return raw->launch(copy); });
    if (!timed.ok())
      return refusalOf(timed.status());
    prepared.timed = std::make_unique<OwningTimed>(std::move(launchable), std::move(*timed));
    return prepared;
  }

private:
  std::string name, cells;
  std::unique_ptr<LaunchBuilder> builder;
  const std::unique_ptr<GpuCell> &cell;
};

} // namespace

std::unique_ptr<Implementation> makeInProcess(std::string id, std::string regime,
                                              std::unique_ptr<LaunchBuilder> builder,
                                              const std::unique_ptr<GpuCell> &cell) {
  return std::make_unique<InProcess>(std::move(id), std::move(regime), std::move(builder), cell);
}

} // namespace attnc::bench
