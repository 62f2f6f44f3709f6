// Events and graphs.
#include "GpuTimer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnc::bench {

namespace {

class GpuTimed : public Timed {
public:
  GpuTimed(const GpuContext &context, bool flushes, Launch launch)
      : context(context), flushes(flushes), launch(std::move(launch)) {}

  Status prepare(const Config &config, int copies) {
    // One event pair a sample of a turn, made once.
    for (int i = 0; i < 2 * batch; ++i) {
      Result<rt::Event> event = rt::Event::create(context.device());
      if (!event.ok())
        return event.status();
      events.push_back(std::move(*event));
    }
    if (config.launch != "graph")
      return {};
    Result<std::vector<double>> eager = measure(3);
    if (!eager.ok())
      return eager.status();
    launches = launchesInGraph(*std::min_element(eager->begin(), eager->end()), copies);
    Result<rt::Graph> captured = rt::Graph::capture(context.stream(), [&]() -> Status {
      for (int i = 0; i < launches; ++i)
        if (Status s = launch(i % copies); !s.ok())
          return s;
      return {};
    });
    if (!captured.ok()) {
      launches = 1;
      return captured.status().withContext("graph capture");
    }
    graph = std::make_unique<rt::Graph>(std::move(*captured));
    return {};
  }

  std::variant<std::vector<double>, Refusal> sample(int count) override {
    std::vector<double> out;
    while (int(out.size()) < count) {
      Result<std::vector<double>> some = measure(std::min(batch, count - int(out.size())));
      if (!some.ok())
        return refusalOf(some.status());
      out.insert(out.end(), some->begin(), some->end());
    }
    return out;
  }

private:
  static constexpr int batch = 32;

  Result<std::vector<double>> measure(int count) {
    const rt::Stream &stream = context.stream();
    for (int i = 0; i < count; ++i) {
      if (flushes)
        if (Status s = context.flush(); !s.ok())
          return s;
      for (Status s : {events[2 * i].record(stream), graph ? graph->launch(stream) : launch(0),
                       events[2 * i + 1].record(stream)})
        if (!s.ok())
          return s;
    }
    if (Status s = stream.synchronize(); !s.ok())
      return s;
    std::vector<double> out;
    for (int i = 0; i < count; ++i) {
      Result<float> ms = events[2 * i + 1].elapsedSince(events[2 * i]);
      out.push_back(ms.ok() ? double(*ms) * 1000 / launches
                            : std::numeric_limits<double>::quiet_NaN());
    }
    return out;
  }

  const GpuContext &context;
  bool flushes;
  Launch launch;
  int launches = 1;
  std::unique_ptr<rt::Graph> graph;
  std::vector<rt::Event> events;
};

} // namespace

Result<std::unique_ptr<Timed>> makeGpuTimed(const GpuContext &context, const Config &config,
                                            int copies, Launch launch) {
  auto timed = std::make_unique<GpuTimed>(
      context, flushesBefore(config, copies, context.properties().l2Bytes), std::move(launch));
  if (Status s = timed->prepare(config, copies); !s.ok())
    return s;
  return std::unique_ptr<Timed>(std::move(timed));
}

} // namespace attnc::bench
