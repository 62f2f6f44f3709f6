// Combining partial results.
#include "Combine.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attnc;

namespace {
/// Merges one row; `T` is the arithmetic. (0, −∞) must be exactly neutral: a part that is −∞ is
/// left out, and one part alone has weight exp(0) = 1.
template <typename T> struct RowMerge {
  std::vector<T> o;
  T lse;

  RowMerge(const HostTensor &oParts, const HostTensor &lseParts, const HostTensor *sinks,
           const std::vector<int64_t> &row) {
    constexpr T empty = -std::numeric_limits<T>::infinity();
    int64_t splits = oParts.shape[0], dim = oParts.shape[4];
    auto partLse = [&](int64_t split) {
      return static_cast<T>(lseParts.get({split, row[0], row[1], row[2]}));
    };
    T sink = sinks ? static_cast<T>(sinks->get({row[1]})) : empty, most = sink;
    for (int64_t split = 0; split < splits; ++split)
      most = std::max(most, partLse(split));
    o.assign(dim, 0);
    lse = most;
    if (most == empty)
      return;
    T sum = sinks ? std::exp(sink - most) : T(0);
    for (int64_t split = 0; split < splits; ++split) {
      T part = partLse(split);
      if (part == empty)
        continue;
      T weight = std::exp(part - most);
      sum += weight;
      for (int64_t d = 0; d < dim; ++d)
        o[d] += weight * static_cast<T>(oParts.get({split, row[0], row[1], row[2], d}));
    }
    for (T &value : o)
      value /= sum;
    lse = most + std::log(sum);
  }
};
} // namespace

std::string reference::evaluateCombine(const HostTensor &oParts, const HostTensor &lseParts,
                                       const HostTensor *sinks, DType outputType,
                                       ReferenceResult &result) {
  std::vector<int64_t> shape(oParts.shape.begin() + 1, oParts.shape.end());
  std::vector<int64_t> rows(shape.begin(), shape.end() - 1);
  if (!std::equal(lseParts.shape.begin(), lseParts.shape.end(), oParts.shape.begin()))
    return "lse_parts must have the shape of o_parts without its last dimension";
  result.o = HostTensor::empty(DType::F64, shape);
  result.plainO = HostTensor::empty(outputType, shape);
  result.lse = HostTensor::empty(DType::F64, rows);
  result.plainLse = HostTensor::empty(DType::F32, rows);
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      for (int64_t q = 0; q < shape[2]; ++q) {
        RowMerge<double> exact(oParts, lseParts, sinks, {b, h, q});
        RowMerge<float> plain(oParts, lseParts, sinks, {b, h, q});
        for (int64_t d = 0; d < shape[3]; ++d) {
          result.o.set({b, h, q, d}, exact.o[d]);
          result.plainO.set({b, h, q, d}, plain.o[d]);
        }
        result.lse.set({b, h, q}, exact.lse);
        result.plainLse.set({b, h, q}, plain.lse);
      }
  return "";
}
