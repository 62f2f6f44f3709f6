// Estimates of memory, and what there is.
#include "MemoryLimit.h"

#include "Messages.h"

#include "attnc/Support/ExitCodes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <sys/resource.h>

using namespace llvm;

namespace attnc::cli {

/// Product of non-negative factors; UINT64_MAX when it leaves 64 bits.
static uint64_t product(std::initializer_list<int64_t> factors) {
  uint64_t result = 1;
  // The zero first: nothing is needed, whatever the others multiply to.
  if (is_contained(factors, 0))
    return 0;
  for (int64_t factor : factors)
    result = SaturatingMultiply(result, static_cast<uint64_t>(factor));
  return result;
}

uint64_t estimateBytes(const Spec &spec, const ProblemShape &shape) {
  uint64_t total = 0;
  auto add = [&](std::initializer_list<int64_t> factors) {
    total = SaturatingAdd(total, product(factors));
  };
  int64_t keys = shape.maxKv;
  if (spec.isPaged()) {
    int64_t columns = std::max<int64_t>(1, divideCeil(keys, *spec.pageSize));
    keys = columns * *spec.pageSize;
    // The table, as it is drawn and as it is bound.
    add({shape.batch, columns, 8 + 4});
  }
  // Lengths and offsets of each sequence.
  add({shape.batch, 2 * 8 + 2 * 4});
  add({shape.batch, shape.maxQ, spec.headsQ, spec.dimQk, dtypeSize(spec.dtypeQ)});
  add({shape.batch, keys, spec.headsKv, spec.dimQk + spec.dimV, dtypeSize(spec.dtypeKv)});
  // o and lse themselves, and beside each the fp64 reference and the plain result.
  add({shape.batch, shape.maxQ, spec.headsQ, spec.dimV, dtypeSize(spec.dtypeO) + 16});
  add({shape.batch, shape.maxQ, spec.headsQ, 4 + 16});
  if (spec.bias)
    add({shape.batch, shape.maxQ, shape.maxKv, spec.headsQ, dtypeSize(*spec.bias)});
  for (const SpecArg &arg : spec.args) {
    uint64_t bytes = arg.isTensor() ? dtypeSize(arg.dtype) : 0;
    for (auto [i, extent] : enumerate(arg.shape))
      bytes = SaturatingMultiply(
          bytes, static_cast<uint64_t>(extent >= 0 ? extent : openExtent(arg, i, shape)));
    total = SaturatingAdd(total, bytes);
  }
  return total;
}

/// The first number in a file; UINT64_MAX if there is none ("max").
static uint64_t numberIn(const char *path, StringRef after) {
  // As a stream: files of /proc and /sys say they have no bytes.
  auto buffer = MemoryBuffer::getFileAsStream(path);
  if (!buffer)
    return UINT64_MAX;
  StringRef text = (*buffer)->getBuffer();
  size_t at = text.find(after);
  if (at == StringRef::npos)
    return UINT64_MAX;
  text = text.substr(at + after.size()).ltrim();
  uint64_t number = 0;
  return text.consumeInteger(10, number) ? UINT64_MAX : number;
}

/// Bytes this process may still take; UINT64_MAX where nothing says.
static uint64_t availableBytes() {
  uint64_t available =
      SaturatingMultiply<uint64_t>(numberIn("/proc/meminfo", "MemAvailable:"), 1024);
  uint64_t limit = numberIn("/sys/fs/cgroup/memory.max", "");
  uint64_t used = numberIn("/sys/fs/cgroup/memory.current", "");
  if (limit != UINT64_MAX && used != UINT64_MAX)
    available = std::min(available, limit > used ? limit - used : 0);
  rlimit address = {};
  uint64_t mapped = SaturatingMultiply<uint64_t>(numberIn("/proc/self/status", "VmSize:"), 1024);
  if (::getrlimit(RLIMIT_AS, &address) == 0 && address.rlim_cur != RLIM_INFINITY &&
      mapped != UINT64_MAX)
    available =
        std::min<uint64_t>(available, address.rlim_cur > mapped ? address.rlim_cur - mapped : 0);
  return available;
}

static std::string gibibytes(uint64_t bytes) {
  if (bytes == UINT64_MAX)
    return "more than 2^64 bytes";
  return formatv("{0:F1} GiB", static_cast<double>(bytes) / 0x1p30).str();
}

int checkMemory(const std::string &what, uint64_t bytes, const std::string &remedy) {
  uint64_t available = availableBytes();
  // A tenth is left to everything else.
  if (available == UINT64_MAX || bytes <= available - available / 10)
    return kExitOk;
  error(what + " needs about " + gibibytes(bytes) + " of memory, and " + gibibytes(available) +
        " are free; " + remedy);
  return kExitOutOfMemory;
}

} // namespace attnc::cli
