// Copies a contiguous cache into shuffled pages.
#include "PagedCache.h"

#include <algorithm>
#include <numeric>

namespace attnc::bench {

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

} // namespace attnc::bench
