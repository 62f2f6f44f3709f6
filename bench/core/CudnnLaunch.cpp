// cuDNN as an implementation of the bench.
#include "CudnnSdpa.h"
#include "InProcess.h"
#include "PagedCache.h"

#include <cmath>

namespace attnc::bench {

namespace {

/// The arrays that a problem needs beyond the cell's tensors.
struct Extras {
  std::vector<PagedCopy> pages;
  std::unique_ptr<rt::Buffer> lensQ, slopes;
};

class CudnnLaunch : public Launchable {
public:
  CudnnLaunch(GpuCell &cell, std::shared_ptr<cudnn::Session> session,
              std::unique_ptr<cudnn::Plan> plan, rt::Buffer workspace, Extras extras)
      : cell(cell), session(std::move(session)), plan(std::move(plan)),
        workspace(std::move(workspace)), extras(std::move(extras)) {}

  Status launch(int copy) override {
    const rt::ContextGuard guard(*cell.context.device());
    if (!guard.status().ok())
      return guard.status();
    const GpuTensors::Copy &in = cell.tensors.copies[std::size_t(copy)];
    cudnn::Tensors t;
    t.q = in.q.address();
    t.k = in.k.address();
    t.v = in.v.address();
    t.o = cell.tensors.o->address();
    t.workspace = workspace.address();
    if (!extras.pages.empty()) {
      const PagedCopy &p = extras.pages[std::size_t(copy)];
      t.k = p.k.address();
      t.v = p.v.address();
      t.table = p.table.address();
      t.lensKv = p.lens.address();
      t.lensQ = extras.lensQ->address();
    }
    if (extras.slopes)
      t.slopes = extras.slopes->address();
    return plan->run(t);
  }
  std::int64_t extraBytes() const override { return std::int64_t(workspace.size()); }
  Json versions() const override { return {{"cudnn", session->version()}}; }
  Json dispatchDetails() const override { return plan->engine(); }

private:
  GpuCell &cell;
  std::shared_ptr<cudnn::Session> session;
  std::unique_ptr<cudnn::Plan> plan;
  rt::Buffer workspace;
  Extras extras;
};

class CudnnBuilder : public LaunchBuilder {
public:
  explicit CudnnBuilder(const GpuContext &context) : context(context) {}
  std::string family() const override { return "cudnn"; }

  Result<std::unique_ptr<Launchable>> build(GpuCell &cell) override {
    Result<cudnn::Problem> problem = cudnn::Problem::of(cell.config);
    if (!problem.ok())
      return problem.status();
    const rt::ContextGuard guard(*context.device());
    if (!guard.status().ok())
      return guard.status();
    if (!session) {
      Result<std::shared_ptr<cudnn::Session>> opened =
          cudnn::Session::open(context.handle(), 10 * context.properties().computeMajor +
                                                     context.properties().computeMinor);
      if (!opened.ok())
        return opened.status();
      session = *opened;
    }
    Result<std::unique_ptr<cudnn::Plan>> plan = cudnn::Plan::create(session, *problem);
    if (!plan.ok())
      return plan.status();
    Result<rt::Buffer> workspace =
        rt::Buffer::allocate(context.device(), std::size_t((*plan)->workspaceBytes()));
    if (!workspace.ok())
      return workspace.status();
    Extras extras;
    if (problem->pageSize) {
      for (const GpuTensors::Copy &copy : cell.tensors.copies) {
        Result<PagedCopy> paged = makePages(cell, copy);
        if (!paged.ok())
          return paged.status();
        extras.pages.push_back(std::move(*paged));
      }
      const std::vector<std::int32_t> lens(std::size_t(problem->batch),
                                           std::int32_t(problem->lenQ));
      if (Status s = upload(lens.data(), lens.size() * 4, extras.lensQ); !s.ok())
        return s;
    }
    if (problem->alibi) {
      const std::vector<float> slopes = cudnn::alibiSlopes(problem->hq);
      if (Status s = upload(slopes.data(), slopes.size() * 4, extras.slopes); !s.ok())
        return s;
    }
    return std::unique_ptr<Launchable>(std::make_unique<CudnnLaunch>(
        cell, session, std::move(*plan), std::move(*workspace), std::move(extras)));
  }

private:
  Status upload(const void *data, std::size_t bytes, std::unique_ptr<rt::Buffer> &out) {
    Result<rt::Buffer> buffer = rt::Buffer::allocate(context.device(), bytes);
    if (!buffer.ok())
      return buffer.status();
    out = std::make_unique<rt::Buffer>(std::move(*buffer));
    if (Status s = out->upload(data, bytes, context.stream()); !s.ok())
      return s;
    return context.stream().synchronize();
  }

  const GpuContext &context;
  std::shared_ptr<cudnn::Session> session;
};

} // namespace

std::unique_ptr<LaunchBuilder> makeCudnnBuilder(const GpuContext &context) {
  return std::make_unique<CudnnBuilder>(context);
}

} // namespace attnc::bench
