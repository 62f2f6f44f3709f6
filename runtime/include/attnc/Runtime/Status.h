// Status and Result: how every runtime function reports failure. No exceptions cross this boundary.
// Not for compiler diagnostics, which carry source locations and go through MLIR.
#ifndef ATTNC_RUNTIME_STATUS_H
#define ATTNC_RUNTIME_STATUS_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace attnc::rt {

/// What went wrong. The values are the exit codes of the command-line tools, so that a tool can
/// return `static_cast<int>(status.code())`.
enum class StatusCode : int {
  Ok = 0,
  CompileFailed = 1,   ///< An assembler or NVRTC rejected the code.
  InvalidArgument = 2, ///< The caller's input (file, shape, pointer, option) is wrong.
  Unsupported = 3,     ///< Valid, but not possible with this package, target or device.
  WrongResult = 4,     ///< Numbers differ from the reference.
  Environment = 5,     ///< Driver, library, assembler, file system.
  OutOfMemory = 6,     ///< Predicted or real.
  Regression = 7,      ///< Slower than the stored record.
  Internal = 70,       ///< A bug of ours, including a kernel that faults.
};

/// The stable lower-case name of a code, for example "unsupported".
const char *statusCodeName(StatusCode code);

/// A code, a message for people, and optionally the full log of the tool that failed.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message, std::string log = {})
      : statusCode(code), text(std::move(message)), toolLog(std::move(log)) {}

  static Status success() { return {}; }

  bool ok() const { return statusCode == StatusCode::Ok; }
  StatusCode code() const { return statusCode; }
  /// One line where possible: what was found, what is allowed, what to do.
  const std::string &message() const { return text; }
  /// The complete output of the assembler or compiler that failed; empty for other failures.
  const std::string &log() const { return toolLog; }

  /// The same failure with \p prefix and ": " in front of the message.
  Status withContext(const std::string &prefix) const {
    return ok() ? *this : Status(statusCode, prefix + ": " + text, toolLog);
  }

private:
  StatusCode statusCode = StatusCode::Ok;
  std::string text;
  std::string toolLog;
};

/// Either a value or the failure that kept it from being made.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : storage(std::in_place_index<1>, std::move(value)) {}
  Result(Status status) : storage(std::in_place_index<0>, std::move(status)) {
    assert(!std::get<0>(storage).ok() && "a Result without a value needs a failure");
  }

  bool ok() const { return storage.index() == 1; }
  explicit operator bool() const { return ok(); }

  /// The failure, or success when there is a value.
  Status status() const { return ok() ? Status() : std::get<0>(storage); }

  T &value() {
    assert(ok());
    return std::get<1>(storage);
  }
  const T &value() const {
    assert(ok());
    return std::get<1>(storage);
  }
  T &operator*() { return value(); }
  const T &operator*() const { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

private:
  std::variant<Status, T> storage;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_STATUS_H
