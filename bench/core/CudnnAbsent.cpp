// In an attn-bench that was configured without cuDNN's headers: every request says so.
#include "CudnnSdpa.h"

namespace attnc::bench::cudnn {

namespace {
const char *const reason =
    "this attn-bench was built without cuDNN's headers; run ./dev bench, or pip install "
    "nvidia-cudnn-frontend nvidia-cudnn-cu13 into .venv (and nvidia-cuda-runtime nvidia-cuda-crt "
    "where there is no CUDA toolkit), then configure and build again";
} // namespace

std::optional<std::string> missing() { return reason; }

Result<std::shared_ptr<Session>> Session::open(void *, int) {
  return Status(StatusCode::Environment, reason);
}

Result<std::unique_ptr<Plan>> Plan::create(std::shared_ptr<Session>, const Problem &) {
  return Status(StatusCode::Environment, reason);
}

Outlook outlook(const Problem &, const std::string &, int) {
  Outlook out;
  out.said = reason;
  return out;
}

} // namespace attnc::bench::cudnn
