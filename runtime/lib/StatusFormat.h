// Shorthand for making a failure Status with a formatted message. Private to the runtime, so that
// {fmt} is no part of its public interface.
#ifndef ATTNC_RUNTIME_LIB_STATUSFORMAT_H
#define ATTNC_RUNTIME_LIB_STATUSFORMAT_H

#include "attnc/Runtime/Status.h"

#include <fmt/core.h>

#include <utility>

namespace attnc::rt {

template <typename... Args>
Status makeError(StatusCode code, fmt::format_string<Args...> format, Args &&...args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status invalidArgument(fmt::format_string<Args...> format, Args &&...args) {
  return Status(StatusCode::InvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status environmentError(fmt::format_string<Args...> format, Args &&...args) {
  return Status(StatusCode::Environment, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args> Status unsupported(fmt::format_string<Args...> format, Args &&...args) {
  return Status(StatusCode::Unsupported, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_STATUSFORMAT_H
