// Names of status codes.
#include "attnc/Runtime/Status.h"

namespace attnc::rt {

const char *statusCodeName(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return "ok";
  case StatusCode::CompileFailed:
    return "compile failed";
  case StatusCode::InvalidArgument:
    return "invalid argument";
  case StatusCode::Unsupported:
    return "unsupported";
  case StatusCode::WrongResult:
    return "wrong result";
  case StatusCode::Environment:
    return "environment";
  case StatusCode::OutOfMemory:
    return "out of memory";
  case StatusCode::Regression:
    return "regression";
  case StatusCode::Internal:
    return "internal";
  }
  return "unknown";
}

} // namespace attnc::rt
