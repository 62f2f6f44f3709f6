// A launcher that runs nothing and keeps what it was asked to launch.
#ifndef ATTNC_TEST_UNIT_RUNTIME_RECORDINGLAUNCHER_H
#define ATTNC_TEST_UNIT_RUNTIME_RECORDINGLAUNCHER_H

#include "attnc/Runtime/Launcher.h"

#include <cstring>
#include <mutex>
#include <vector>

namespace attnc::rt::testing {

struct RecordedLaunch {
  LaunchRequest request;
  /// Eight bytes from each parameter's address; the low ones are the value.
  std::vector<std::uint64_t> params;

  std::uint64_t word(std::size_t index) const { return params.at(index); }
  std::int32_t i32(std::size_t index) const { return std::int32_t(params.at(index)); }
  float f32(std::size_t index) const {
    float value;
    std::memcpy(&value, &params.at(index), sizeof value);
    return value;
  }
};

class RecordingLauncher : public Launcher {
public:
  explicit RecordingLauncher(int multiprocessors = 0) : count(multiprocessors) {}

  Status begin() override {
    std::lock_guard<std::mutex> lock(mutex);
    ++begins;
    return {};
  }
  Status launch(const LaunchRequest &request) override {
    RecordedLaunch launch{request, {}};
    for (std::size_t i = 0; i < request.paramCount; ++i) {
      std::uint64_t value;
      std::memcpy(&value, request.params[i], sizeof value);
      launch.params.push_back(value);
    }
    std::lock_guard<std::mutex> lock(mutex);
    launches.push_back(std::move(launch));
    return failAt == request.kernel ? Status(StatusCode::Internal, "planted") : Status();
  }
  void end() override {
    std::lock_guard<std::mutex> lock(mutex);
    ++ends;
  }
  Status encodeTensorMap(const TensorMapRequest &request, TensorMap &map) override {
    std::lock_guard<std::mutex> lock(mutex);
    encoded.push_back(request);
    map = {};
    // So that a launch shows which map it was given.
    const std::uint64_t number = encoded.size();
    std::memcpy(map.bytes.data(), &number, sizeof number);
    return failEncoding ? Status(StatusCode::Internal, "planted") : Status();
  }
  int multiprocessors() const override { return count; }

  std::vector<RecordedLaunch> launches;
  std::vector<TensorMapRequest> encoded;
  bool failEncoding = false;
  int begins = 0, ends = 0;
  /// Kernel number whose launch fails.
  std::size_t failAt = ~std::size_t(0);

private:
  int count;
  std::mutex mutex;
};

} // namespace attnc::rt::testing

#endif // ATTNC_TEST_UNIT_RUNTIME_RECORDINGLAUNCHER_H
