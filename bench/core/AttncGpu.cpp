// attnc's kernels from packages through the runtime's Plan.
#include "InProcess.h"
#include "PagedCache.h"

#include "attnc/Runtime/Executable.h"
#include "attnc/Runtime/Plan.h"

#include <fmt/format.h>
#include <map>

namespace attnc::bench {

namespace {

rt::DataType dataType(const std::string &dtype) {
  return dtype == "bf16"   ? rt::DataType::BF16
         : dtype == "fp16" ? rt::DataType::F16
                           : rt::DataType::F32;
}

class AttncLaunch : public Launchable {
public:
  AttncLaunch(GpuCell &cell, rt::Plan plan, rt::Buffer workspace, std::vector<PagedCopy> pages,
              Json about, std::string hash)
      : cell(cell), plan(std::move(plan)), workspace(std::move(workspace)), pages(std::move(pages)),
        about(std::move(about)), hash(std::move(hash)) {}

  Status launch(int copy) override {
    const Config &c = cell.config;
    const GpuTensors::Copy &in = cell.tensors.copies[std::size_t(copy)];
    const rt::DataType type = dataType(c.dtype);
    using rt::TensorView;
    rt::TensorBinding tensors[6] = {
        {"q", TensorView::contiguous(in.q.address(), type, {c.batch, c.hq, c.lenQ(), c.headDim})},
        {"o", TensorView::contiguous(cell.tensors.o->address(), type,
                                     {c.batch, c.hq, c.lenQ(), c.headDim})}};
    std::size_t count = 2;
    if (pages.empty()) {
      tensors[count++] = {
          "k", TensorView::contiguous(in.k.address(), type, {c.batch, c.hkv, c.n, c.headDim})};
      tensors[count++] = {
          "v", TensorView::contiguous(in.v.address(), type, {c.batch, c.hkv, c.n, c.headDim})};
    } else {
      const PagedCopy &p = pages[std::size_t(copy)];
      tensors[count++] = {"k", TensorView::contiguous(p.k.address(), type,
                                                      {p.pages, c.hkv, *c.pageSize, c.headDim})};
      tensors[count++] = {"v", TensorView::contiguous(p.v.address(), type,
                                                      {p.pages, c.hkv, *c.pageSize, c.headDim})};
      tensors[count++] = {
          "block_table",
          TensorView::contiguous(p.table.address(), rt::DataType::I32, {c.batch, p.perSequence})};
      tensors[count++] = {"kv_lens",
                          TensorView::contiguous(p.lens.address(), rt::DataType::I32, {c.batch})};
    }
    return plan.run(tensors, count, nullptr, 0, workspace.address(), workspace.size(),
                    cell.context.handle());
  }
  std::int64_t extraBytes() const override { return std::int64_t(workspace.size()); }
  Json versions() const override { return {{"attnc", about["compiler"]}}; }
  std::optional<std::string> specHash() const override { return hash; }
  Json dispatchDetails() const override {
    return {{"config", about["config"]}, {"loaded", about["loaded"]}, {"splits", plan.splits()}};
  }

private:
  GpuCell &cell;
  rt::Plan plan;
  rt::Buffer workspace;
  std::vector<PagedCopy> pages;
  Json about;
  std::string hash;
};

class AttncBuilder : public LaunchBuilder {
public:
  AttncBuilder(const GpuContext &context, PackageSource packages)
      : context(context), packages(std::move(packages)) {}
  std::string family() const override { return "attnc"; }

  Result<std::unique_ptr<Launchable>> build(GpuCell &cell) override {
    const Config &c = cell.config;
    Result<std::string> path = packages.path(c, targetOf(context.properties().sm));
    if (!path.ok())
      return path.status();
    auto found = loaded.find(*path);
    if (found == loaded.end()) {
      Result<rt::Package> package = rt::readPackage(*path);
      if (!package.ok())
        return package.status();
      Loaded entry;
      entry.package = std::make_shared<rt::Package>(std::move(*package));
      Result<std::shared_ptr<rt::Executable>> executable =
          rt::Executable::load(context.device(), *entry.package);
      if (!executable.ok())
        return executable.status();
      entry.executable = *executable;
      found = loaded.emplace(*path, std::move(entry)).first;
    }
    const Loaded &entry = found->second;
    std::vector<PagedCopy> pages;
    rt::ProblemSizes sizes;
    sizes.batch = c.batch;
    sizes.maxLenQ = c.lenQ();
    sizes.maxLenKv = c.n;
    if (c.pageSize) {
      for (const GpuTensors::Copy &copy : cell.tensors.copies) {
        Result<PagedCopy> paged = makePages(cell, copy);
        if (!paged.ok())
          return paged.status();
        sizes.pages = paged->pages;
        sizes.maxPages = paged->perSequence;
        pages.push_back(std::move(*paged));
      }
    }
    Result<rt::Plan> plan = rt::Plan::create(entry.package, entry.executable, sizes);
    if (!plan.ok())
      return plan.status();
    Result<rt::Buffer> workspace =
        rt::Buffer::allocate(context.device(), std::size_t(plan->workspaceBytes()));
    if (!workspace.ok())
      return workspace.status();
    Json about = {{"compiler", entry.package->compiler},
                  {"config", entry.package->config},
                  {"loaded", entry.executable->origin()}};
    return std::unique_ptr<Launchable>(
        std::make_unique<AttncLaunch>(cell, std::move(*plan), std::move(*workspace),
                                      std::move(pages), std::move(about), entry.package->specHash));
  }

private:
  struct Loaded {
    std::shared_ptr<rt::Package> package;
    std::shared_ptr<rt::Executable> executable;
  };
  const GpuContext &context;
  PackageSource packages;
  std::map<std::string, Loaded> loaded;
};

} // namespace

std::unique_ptr<LaunchBuilder> makeAttncBuilder(const GpuContext &context, PackageSource packages) {
  return std::make_unique<AttncBuilder>(context, std::move(packages));
}

} // namespace attnc::bench
