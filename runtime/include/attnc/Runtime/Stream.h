// Streams, events and captured graphs: thin owners of driver objects. Timing policy is the bench's.
#ifndef ATTNC_RUNTIME_STREAM_H
#define ATTNC_RUNTIME_STREAM_H

#include "attnc/Runtime/Device.h"

#include <functional>
#include <memory>

namespace attnc::rt {

class Event;

/// A stream that does not synchronise with the legacy default stream.
class Stream {
public:
  static Result<Stream> create(std::shared_ptr<Device> device);
  Stream(Stream &&other) noexcept;
  Stream &operator=(Stream &&) = delete;
  ~Stream();

  cuda::CUstream handle() const { return stream; }
  const std::shared_ptr<Device> &device() const { return owner; }

  /// Waits for everything enqueued. Faults of earlier kernels surface here.
  Status synchronize() const;
  /// Later work of this stream waits for \p event.
  Status wait(const Event &event) const;

private:
  Stream(std::shared_ptr<Device> device) : owner(std::move(device)) {}

  std::shared_ptr<Device> owner;
  cuda::CUstream stream = nullptr;
};

/// An event that records times.
class Event {
public:
  static Result<Event> create(std::shared_ptr<Device> device);
  Event(Event &&other) noexcept;
  Event &operator=(Event &&) = delete;
  ~Event();

  Status record(const Stream &stream) const;
  Status synchronize() const;
  /// Milliseconds from \p start to this event; both must have happened.
  Result<float> elapsedSince(const Event &start) const;
  cuda::CUevent handle() const { return event; }

private:
  Event(std::shared_ptr<Device> device) : owner(std::move(device)) {}

  std::shared_ptr<Device> owner;
  cuda::CUevent event = nullptr;
};

/// Work captured once and launched many times.
class Graph {
public:
  /// Captures what \p enqueue puts on \p stream. \returns its failure, or the driver's.
  static Result<Graph> capture(const Stream &stream, const std::function<Status()> &enqueue);
  Graph(Graph &&other) noexcept;
  Graph &operator=(Graph &&) = delete;
  ~Graph();

  Status launch(const Stream &stream) const;

private:
  Graph(std::shared_ptr<Device> device) : owner(std::move(device)) {}

  std::shared_ptr<Device> owner;
  cuda::CUgraphExec executable = nullptr;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_STREAM_H
