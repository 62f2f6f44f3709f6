// A cell's KV cache in pages, for the implementations that read one: page p of a sequence is at a
// shuffled place, and what lies past a sequence's end is NaN, so that a kernel that reads it shows
// in the check.
#ifndef ATTNC_BENCH_PAGEDCACHE_H
#define ATTNC_BENCH_PAGEDCACHE_H

#include "InProcess.h"

namespace attnc::bench {

/// K and V are [pages, Hkv, page, D]; table i32 [B, perSequence]; lens i32 [B].
struct PagedCopy {
  rt::Buffer k, v, table, lens;
  std::int64_t pages = 0, perSequence = 0;
};

/// Fills it from the contiguous copy \p in of a cell that has a page size.
Result<PagedCopy> makePages(const GpuCell &cell, const GpuTensors::Copy &in);

} // namespace attnc::bench

#endif // ATTNC_BENCH_PAGEDCACHE_H
