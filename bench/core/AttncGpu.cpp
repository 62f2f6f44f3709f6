// attnc's kernels from packages through the runtime's Plan.
#include "InProcess.h"

#include "attnc/Runtime/Executable.h"
#include "attnc/Runtime/Plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace attnc::bench {

namespace {

rt::DataType dataType(const std::string &dtype) {
  return dtype == "bf16"   ? rt::DataType::BF16
         : dtype == "fp16" ? rt::DataType::F16
                           : rt::DataType::F32;
}

/// A KV cache in pages, filled from the contiguous one: page p of a sequence is at a shuffled
/// place.
struct PagedCopy {
  rt::Buffer k, v, table, lens;
  std::int64_t pages = 0, perSequence = 0;
};

Result<PagedCopy> makePages(const GpuCell &cell, const GpuTensors::Copy &in) {
  const Config &c = cell.config;
  const GpuContext &context = cell.context;
  const std::int64_t page = *c.pageSize, per = (c.n + page - 1) / page, pages = c.batch * per;
  const std::size_t bytes = std::size_t(pages * c.hkv * page * c.headDim * c.elementBytes());
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
  std::iota(table.begin(), table.end(), 0);
  std::uint64_t state = 42;
  for (std::size_t i = table.size(); i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(table[i - 1], table[std::size_t(state >> 33) % i]);
  }
  const std::vector<std::int32_t> lens(std::size_t(c.batch), std::int32_t(c.n));
  const auto &device = context.device();
  Result<rt::Buffer> k = rt::Buffer::allocate(device, bytes),
                     v = rt::Buffer::allocate(device, bytes),
                     t = rt::Buffer::allocate(device, table.size() * 4),
                     l = rt::Buffer::allocate(device, lens.size() * 4);
  for (const Result<rt::Buffer> *b : {&k, &v, &t, &l})
    if (!b->ok())
      return b->status();
  // NaN past each sequence's end: a kernel that reads it shows in the check.
  for (Status s :
       {k->fill(0xff, context.stream()), v->fill(0xff, context.stream()),
        t->upload(table.data(), table.size() * 4, context.stream()),
        l->upload(lens.data(), lens.size() * 4, context.stream()), context.stream().synchronize()})
    if (!s.ok())
      return s;
  const rt::ContextGuard guard(*device);
  const rt::cuda::DriverApi &api = device->api();
  const std::int64_t row = c.headDim * c.elementBytes();
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.hkv; ++h)
      for (std::int64_t p = 0; p < per; ++p) {
        const std::int64_t rows = std::min(page, c.n - p * page);
        const std::int64_t to =
            ((std::int64_t(table[std::size_t(b * per + p)]) * c.hkv + h) * page) * row;
        const std::int64_t from = ((b * c.hkv + h) * c.n + p * page) * row;
        for (auto [target, source] :
             {std::pair{k->address(), in.k.address()}, std::pair{v->address(), in.v.address()}})
          if (api.cuMemcpyDtoDAsync(target + std::uint64_t(to), source + std::uint64_t(from),
                                    std::size_t(rows * row), context.handle()) != rt::cuda::success)
            return Status(StatusCode::Internal, "copying a page of the KV cache failed");
      }
  if (Status s = context.stream().synchronize(); !s.ok())
    return s;
  return PagedCopy{std::move(*k), std::move(*v), std::move(*t), std::move(*l), pages, per};
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
