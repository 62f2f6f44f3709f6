// Requests for tensor maps and their cache.
#include "TensorMaps.h"

#include "StatusFormat.h"

namespace attnc::rt {
namespace {

// Limits of cuTensorMapEncodeTiled.
constexpr std::int64_t maxDimension = std::int64_t(1) << 32;
constexpr std::int64_t maxStrideBytes = std::int64_t(1) << 40;
constexpr std::int64_t strideUnit = 16;

std::size_t hashOf(const TensorMapRequest &request) {
  std::uint64_t hash = request.address;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  for (int d = 0; d < request.rank; ++d) {
    mix(request.dims[std::size_t(d)]);
    mix(request.strideBytes[std::size_t(d)]);
    mix(request.box[std::size_t(d)]);
  }
  return std::size_t(hash);
}

} // namespace

Status Launcher::encodeTensorMap(const TensorMapRequest &, TensorMap &) {
  return unsupported("this launcher makes no tensor maps");
}

Status makeTensorMapRequest(const TensorRule &rule, const TensorView &view,
                            const TensorMapShape &shape, TensorMapRequest &request) {
  request = {};
  request.address = view.address;
  request.dtype = rule.dtype;
  request.rank = rule.rank;
  request.swizzle = shape.swizzle;
  const std::int64_t elementBytes = byteSize(rule.dtype);
  for (int i = 0; i < rule.rank; ++i) {
    // Innermost first.
    const auto d = std::size_t(rule.rank - 1 - i);
    const auto to = std::size_t(i);
    if (view.shape[d] > maxDimension)
      return invalidArgument("tensor '{}': dimension {} is {}; a tensor map takes up to {}",
                             rule.name, d, view.shape[d], maxDimension);
    request.dims[to] = std::uint64_t(view.shape[d]);
    request.box[to] = std::uint32_t(shape.box[d]);
    if (i == 0)
      continue;
    // A dimension of one element has a stride that means nothing: one row will do.
    std::int64_t bytes = (view.shape[std::size_t(rule.rank - 1)] * elementBytes + strideUnit - 1) /
                         strideUnit * strideUnit;
    if (view.shape[d] > 1) {
      if (view.strides[d] >= maxStrideBytes / elementBytes)
        return invalidArgument("tensor '{}': stride {} of dimension {} is too large; a tensor map "
                               "takes less than {} bytes",
                               rule.name, view.strides[d], d, maxStrideBytes);
      bytes = view.strides[d] * elementBytes;
      if (bytes % strideUnit != 0)
        return invalidArgument("tensor '{}': stride {} of dimension {} is {} bytes; a tensor map "
                               "takes multiples of {}, copy the tensor or pad its rows",
                               rule.name, view.strides[d], d, bytes, strideUnit);
    }
    request.strideBytes[std::size_t(i - 1)] = std::uint64_t(bytes);
  }
  return {};
}

Status TensorMapCache::get(Launcher &launcher, const TensorMapRequest &request, TensorMap &map) {
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = entries[hashOf(request) % size];
  if (!entry.used || !(entry.request == request)) {
    entry.used = false;
    if (Status status = launcher.encodeTensorMap(request, entry.map); !status.ok())
      return status;
    entry.request = request;
    entry.used = true;
  }
  map = entry.map;
  return {};
}

} // namespace attnc::rt
