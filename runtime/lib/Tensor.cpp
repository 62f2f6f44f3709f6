// Construction of tensor views.
#include "attnc/Runtime/Tensor.h"

#include <algorithm>
#include <cassert>

namespace attnc::rt {

TensorView::TensorView(std::uint64_t address, DataType dtype,
                       std::initializer_list<std::int64_t> shape,
                       std::initializer_list<std::int64_t> strides)
    : address(address), dtype(dtype), rank(int(shape.size())) {
  assert(shape.size() <= std::size_t(maxRank) && shape.size() == strides.size());
  std::copy(shape.begin(), shape.end(), this->shape.begin());
  std::copy(strides.begin(), strides.end(), this->strides.begin());
}

TensorView TensorView::contiguous(std::uint64_t address, DataType dtype,
                                  std::initializer_list<std::int64_t> shape) {
  TensorView view(address, dtype, shape, shape);
  // Unsigned: a shape beyond 64 bits gives strides that the plan's checks refuse, not undefined
  // behaviour here.
  std::uint64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[std::size_t(d)] = std::int64_t(stride);
    stride *= std::uint64_t(std::max<std::int64_t>(1, view.shape[std::size_t(d)]));
  }
  return view;
}

} // namespace attnc::rt
