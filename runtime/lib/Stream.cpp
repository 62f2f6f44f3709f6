// Streams, events, graphs.
#include "attnc/Runtime/Stream.h"

#include "StatusFormat.h"
#include "StatusMapping.h"

#include <utility>

namespace attnc::rt {
namespace {

Status check(const Device &device, cuda::CUresult result, const char *call) {
  return driverStatus(device.api(), result, call, {{}, device.properties().sm});
}

} // namespace

Result<Stream> Stream::create(std::shared_ptr<Device> device) {
  const ContextGuard guard(*device);
  if (!guard.status().ok())
    return guard.status();
  Stream stream(device);
  if (Status status =
          check(*device, device->api().cuStreamCreate(&stream.stream, cuda::streamNonBlocking),
                "cuStreamCreate");
      !status.ok())
    return status;
  return stream;
}

Stream::Stream(Stream &&other) noexcept
    : owner(std::move(other.owner)), stream(std::exchange(other.stream, nullptr)) {}

Stream::~Stream() {
  if (!stream)
    return;
  const ContextGuard guard(*owner);
  owner->api().cuStreamDestroy(stream);
}

Status Stream::synchronize() const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return check(*owner, owner->api().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

Status Stream::wait(const Event &event) const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return check(*owner, owner->api().cuStreamWaitEvent(stream, event.handle(), 0),
               "cuStreamWaitEvent");
}

Result<Event> Event::create(std::shared_ptr<Device> device) {
  const ContextGuard guard(*device);
  if (!guard.status().ok())
    return guard.status();
  Event event(device);
  if (Status status = check(*device, device->api().cuEventCreate(&event.event, 0), "cuEventCreate");
      !status.ok())
    return status;
  return event;
}

Event::Event(Event &&other) noexcept
    : owner(std::move(other.owner)), event(std::exchange(other.event, nullptr)) {}

Event::~Event() {
  if (!event)
    return;
  const ContextGuard guard(*owner);
  owner->api().cuEventDestroy(event);
}

Status Event::record(const Stream &stream) const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return check(*owner, owner->api().cuEventRecord(event, stream.handle()), "cuEventRecord");
}

Status Event::synchronize() const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return check(*owner, owner->api().cuEventSynchronize(event), "cuEventSynchronize");
}

Result<float> Event::elapsedSince(const Event &start) const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  float milliseconds = 0;
  if (Status status =
          check(*owner, owner->api().cuEventElapsedTime(&milliseconds, start.event, event),
                "cuEventElapsedTime");
      !status.ok())
    return status;
  return milliseconds;
}

Result<Graph> Graph::capture(const Stream &stream, const std::function<Status()> &enqueue) {
  const std::shared_ptr<Device> &device = stream.device();
  const cuda::DriverApi &api = device->api();
  if (!api.cuGraphInstantiateWithFlags)
    return environmentError(
        "this driver (CUDA {}.{}) cannot instantiate graphs; CUDA 11.4 or later "
        "is needed",
        api.version / 1000, api.version % 1000 / 10);
  const ContextGuard guard(*device);
  if (!guard.status().ok())
    return guard.status();
  if (Status status =
          check(*device, api.cuStreamBeginCapture(stream.handle(), cuda::captureThreadLocal),
                "cuStreamBeginCapture");
      !status.ok())
    return status;
  const Status enqueued = enqueue();
  cuda::CUgraph graph = nullptr;
  const Status ended =
      check(*device, api.cuStreamEndCapture(stream.handle(), &graph), "cuStreamEndCapture");
  Graph result(device);
  Status status = !enqueued.ok() ? enqueued : ended;
  if (status.ok())
    status = check(*device, api.cuGraphInstantiateWithFlags(&result.executable, graph, 0),
                   "cuGraphInstantiateWithFlags");
  if (graph)
    api.cuGraphDestroy(graph);
  if (!status.ok())
    return status;
  return result;
}

Graph::Graph(Graph &&other) noexcept
    : owner(std::move(other.owner)), executable(std::exchange(other.executable, nullptr)) {}

Graph::~Graph() {
  if (!executable)
    return;
  const ContextGuard guard(*owner);
  owner->api().cuGraphExecDestroy(executable);
}

Status Graph::launch(const Stream &stream) const {
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return check(*owner, owner->api().cuGraphLaunch(executable, stream.handle()), "cuGraphLaunch");
}

} // namespace attnc::rt
