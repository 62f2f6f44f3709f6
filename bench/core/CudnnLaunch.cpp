// cuDNN as an implementation of the bench.
#include "CudnnGraph.h"
#include "InProcess.h"

#include <fmt/format.h>

namespace attnc::bench {

namespace {

/// One handle for the process, on the bench's stream.
class CudnnSession {
public:
  static Result<std::shared_ptr<CudnnSession>> open(const GpuContext &context) {
    Result<const cudnn::Api *> api = cudnn::load();
    if (!api.ok())
      return api.status();
    auto out = std::make_shared<CudnnSession>();
    out->api = *api;
    const rt::ContextGuard guard(*context.device());
    if (!guard.status().ok())
      return guard.status();
    if (const int code = out->api->create(&out->handle))
      return cudnn::failure(**api, "cudnnCreate", code);
    if (const int code = out->api->setStream(out->handle, context.handle()))
      return cudnn::failure(**api, "cudnnSetStream", code);
    return out;
  }
  ~CudnnSession() {
    if (handle)
      api->destroy(handle);
  }

  const cudnn::Api *api = nullptr;
  cudnn::Handle handle = nullptr;
};

class CudnnLaunch : public Launchable {
public:
  CudnnLaunch(GpuCell &cell, std::shared_ptr<CudnnSession> session,
              std::unique_ptr<cudnn::SdpaPlan> plan, rt::Buffer workspace)
      : cell(cell), session(std::move(session)), plan(std::move(plan)),
        workspace(std::move(workspace)) {}

  Status launch(int copy) override {
    const rt::ContextGuard guard(*cell.context.device());
    if (!guard.status().ok())
      return guard.status();
    const GpuTensors::Copy &in = cell.tensors.copies[std::size_t(copy)];
    return plan->run({in.q.address(), in.k.address(), in.v.address(), cell.tensors.o->address(),
                      workspace.address()});
  }
  std::int64_t extraBytes() const override { return std::int64_t(workspace.size()); }
  Json versions() const override {
    const std::size_t v = session->api->getVersion();
    return {{"cudnn", fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100)}};
  }
  Json dispatchDetails() const override {
    return {{"engine", plan->engine()}, {"engines_offered", plan->candidates()}};
  }

private:
  GpuCell &cell;
  std::shared_ptr<CudnnSession> session;
  std::unique_ptr<cudnn::SdpaPlan> plan;
  rt::Buffer workspace;
};

class CudnnBuilder : public LaunchBuilder {
public:
  explicit CudnnBuilder(const GpuContext &context) : context(context) {}
  std::string family() const override { return "cudnn"; }

  Result<std::unique_ptr<Launchable>> build(GpuCell &cell) override {
    const Config &c = cell.config;
    const auto refuse = [](const std::string &text) {
      return Status(StatusCode::Unsupported, text);
    };
    if (c.variant)
      return refuse("attn-bench asks cuDNN for plain and causal attention only; found variant " +
                    *c.variant);
    if (c.pageSize)
      return refuse("attn-bench does not build cuDNN's paged graph yet");
    if (c.dtype == "fp32")
      return refuse("cuDNN's fused attention takes bf16 and fp16; found fp32");
    if (!session) {
      Result<std::shared_ptr<CudnnSession>> opened = CudnnSession::open(context);
      if (!opened.ok())
        return opened.status();
      session = *opened;
    }
    const rt::ContextGuard guard(*context.device());
    if (!guard.status().ok())
      return guard.status();
    Result<std::unique_ptr<cudnn::SdpaPlan>> plan =
        cudnn::SdpaPlan::create(*session->api, session->handle, c);
    if (!plan.ok())
      return plan.status();
    Result<rt::Buffer> workspace =
        rt::Buffer::allocate(context.device(), std::size_t((*plan)->workspaceBytes()));
    if (!workspace.ok())
      return workspace.status();
    return std::unique_ptr<Launchable>(
        std::make_unique<CudnnLaunch>(cell, session, std::move(*plan), std::move(*workspace)));
  }

private:
  const GpuContext &context;
  std::shared_ptr<CudnnSession> session;
};

} // namespace

std::unique_ptr<LaunchBuilder> makeCudnnBuilder(const GpuContext &context) {
  return std::make_unique<CudnnBuilder>(context);
}

} // namespace attnc::bench
