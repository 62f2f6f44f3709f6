// Rules by tensor name, and the check of a view.
#include "TensorRules.h"

#include "CheckedMath.h"
#include "StatusFormat.h"

#include <algorithm>

namespace attnc::rt {
namespace {

using Kind = DimensionRule::Kind;

DimensionRule exact(std::int64_t size) { return {Kind::Exact, size}; }
DimensionRule atLeast(std::int64_t size) { return {Kind::AtLeast, size}; }
DimensionRule broadcast(std::int64_t size) { return {Kind::Broadcast, size}; }

/// The sizes that a tensor's name fixes; empty for names that fix nothing.
std::vector<DimensionRule> rulesByName(const std::string &name, const ProblemDesc &problem,
                                       const ProblemSizes &sizes) {
  const bool varlen = problem.seq == "varlen";
  // Packed buffers may hold more tokens than the sequences use (their tail is not touched).
  const DimensionRule batch = exact(varlen ? 1 : sizes.batch);
  const DimensionRule lenQ = varlen ? atLeast(sizes.totalQ) : exact(sizes.maxLenQ);
  if (name == "q")
    return {batch, exact(problem.headsQ), lenQ, exact(problem.dimQk)};
  if (name == "o")
    return {batch, exact(problem.headsQ), lenQ, exact(problem.dimV)};
  if (name == "lse")
    return {batch, exact(problem.headsQ), lenQ};
  if (name == "k" || name == "v") {
    const DimensionRule dim = exact(name == "k" ? problem.dimQk : problem.dimV);
    if (problem.pageSize)
      return {atLeast(sizes.pages), exact(problem.headsKv), exact(*problem.pageSize), dim};
    const DimensionRule lenKv = varlen                     ? atLeast(sizes.totalKv)
                                : problem.seq == "kv_lens" ? atLeast(sizes.maxLenKv)
                                                           : exact(sizes.maxLenKv);
    return {batch, exact(problem.headsKv), lenKv, dim};
  }
  if (name == "cu_seqlens_q" || name == "cu_seqlens_kv")
    return {exact(sizes.batch + 1)};
  if (name == "kv_lens")
    return {exact(sizes.batch)};
  if (name == "block_table")
    return {exact(sizes.batch),
            atLeast(std::max(sizes.maxPages, problem.pageSize
                                                 ? ceilDiv(sizes.maxLenKv, *problem.pageSize)
                                                 : std::int64_t(0)))};
  if (name == "sinks")
    return {exact(problem.headsQ)};
  if (name == "bias")
    return {broadcast(sizes.batch), broadcast(problem.headsQ), broadcast(sizes.maxLenQ),
            broadcast(sizes.maxLenKv)};
  return {};
}

bool isMatrixOperand(const std::string &name) {
  return name == "q" || name == "k" || name == "v" || name == "o";
}

std::string dimensionName(const TensorRule &rule, int d) {
  static constexpr const char *names[] = {"batch", "head", "seq", "dim"};
  const bool logical = rule.rank >= 3 && (isMatrixOperand(rule.name) || rule.name == "lse");
  return logical && d < 4 ? fmt::format("{} ({})", d, names[d]) : std::to_string(d);
}

bool fits(const DimensionRule &rule, std::int64_t size) {
  switch (rule.kind) {
  case Kind::Exact:
    return size == rule.size;
  case Kind::AtLeast:
    return size >= rule.size;
  case Kind::Broadcast:
    return size == rule.size || size == 1;
  case Kind::Any:
    return true;
  }
  return false;
}

std::string describe(const DimensionRule &rule) {
  switch (rule.kind) {
  case Kind::AtLeast:
    return fmt::format("{} or more", rule.size);
  case Kind::Broadcast:
    return fmt::format("{} (or 1, to broadcast)", rule.size);
  default:
    return std::to_string(rule.size);
  }
}

Status checkStrides(const TensorRule &rule, const TensorView &view) {
  const std::int64_t elementBytes = byteSize(rule.dtype);
  for (int d = 0; d < rule.rank; ++d) {
    const auto i = std::size_t(d);
    const std::int64_t stride = view.strides[i];
    if (view.shape[i] <= 1)
      continue; // Never multiplied by anything but 0.
    if (stride < 0)
      return invalidArgument("tensor '{}': stride {} of dimension {} is negative; pass a view with "
                             "strides from 0",
                             rule.name, stride, dimensionName(rule, d));
    if (rule.output && stride == 0)
      return invalidArgument("tensor '{}': stride of dimension {} is 0, so that results would "
                             "overwrite each other; outputs need distinct elements",
                             rule.name, dimensionName(rule, d));
    if (rule.unitInner && d == rule.rank - 1) {
      if (stride != 1)
        return invalidArgument("tensor '{}': the stride of the last dimension is {}; it must be 1, "
                               "make that dimension contiguous",
                               rule.name, stride);
      continue;
    }
    // Modulo first, so that no product can overflow.
    if ((stride % rule.align) * elementBytes % rule.align != 0)
      return invalidArgument("tensor '{}': stride {} of dimension {}, in elements of {} bytes, is "
                             "not a multiple of {} bytes; copy the tensor or pad its rows",
                             rule.name, stride, dimensionName(rule, d), elementBytes, rule.align);
  }
  return {};
}

/// Bytes from the first to behind the last element, or nothing on overflow.
std::optional<std::int64_t> spanBytes(const TensorView &view, int rank) {
  std::optional<std::int64_t> last = 0;
  for (int d = 0; d < rank && last; ++d) {
    const auto i = std::size_t(d);
    const std::optional<std::int64_t> reach =
        checkedMul(view.shape[i] - 1, view.shape[i] > 1 ? view.strides[i] : 0);
    last = reach ? checkedAdd(*last, *reach) : std::nullopt;
  }
  if (last)
    last = checkedAdd(*last, 1);
  return last ? checkedMul(*last, byteSize(view.dtype)) : std::nullopt;
}

} // namespace

Result<TensorRule> makeTensorRule(const ParamDesc &param, const ProblemDesc &problem,
                                  const ProblemSizes &sizes, const SymbolTable &symbols) {
  TensorRule rule;
  rule.name = param.name;
  rule.dtype = param.dtype;
  rule.rank = param.rank;
  rule.unitInner = param.unitInner;
  rule.output = param.name == "o" || param.name == "lse";
  rule.align = param.align                   ? param.align
               : isMatrixOperand(param.name) ? 16
                                             : int(byteSize(param.dtype));
  std::vector<DimensionRule> dimensions = rulesByName(param.name, problem, sizes);
  if (dimensions.empty())
    for (const Expression &expression : param.shape) {
      Result<std::int64_t> size = expression.evaluate(symbols);
      if (!size)
        return size.status().withContext("shape of tensor '" + param.name + "'");
      dimensions.push_back(exact(*size));
    }
  if (!dimensions.empty() && dimensions.size() != std::size_t(param.rank))
    return invalidArgument("package: tensor '{}' has rank {}, its name means rank {}", param.name,
                           param.rank, dimensions.size());
  std::copy(dimensions.begin(), dimensions.end(), rule.dimensions.begin());
  return rule;
}

Status checkTensor(const TensorRule &rule, const TensorView &view) {
  if (view.dtype != rule.dtype)
    return invalidArgument("tensor '{}': dtype is {}; this kernel takes {}", rule.name,
                           dataTypeName(view.dtype), dataTypeName(rule.dtype));
  if (view.rank != rule.rank)
    return invalidArgument("tensor '{}': has {} dimensions; this kernel takes {}", rule.name,
                           view.rank, rule.rank);
  bool empty = false;
  for (int d = 0; d < rule.rank; ++d) {
    const auto i = std::size_t(d);
    if (view.shape[i] < 0)
      return invalidArgument("tensor '{}': dimension {} is {}; sizes are 0 or more", rule.name,
                             dimensionName(rule, d), view.shape[i]);
    if (!fits(rule.dimensions[i], view.shape[i]))
      return invalidArgument("tensor '{}': dimension {} is {}; this plan needs {}", rule.name,
                             dimensionName(rule, d), view.shape[i], describe(rule.dimensions[i]));
    empty |= view.shape[i] == 0;
  }
  if (empty)
    return {}; // Nothing is read or written, so the pointer and strides mean nothing.
  if (view.address == 0)
    return invalidArgument("tensor '{}': the address is null", rule.name);
  if (view.address % std::uint64_t(rule.align) != 0)
    return invalidArgument("tensor '{}': the address {:#x} is not {}-byte aligned; it is off by {} "
                           "bytes, copy the tensor or begin the view at an aligned element",
                           rule.name, view.address, rule.align,
                           view.address % std::uint64_t(rule.align));
  if (Status status = checkStrides(rule, view); !status.ok())
    return status;
  const std::optional<std::int64_t> bytes = spanBytes(view, rule.rank);
  if (!bytes || view.address > ~std::uint64_t(0) - std::uint64_t(*bytes))
    return invalidArgument("tensor '{}': its shape and strides leave the 64-bit address space",
                           rule.name);
  if (view.extentBytes && std::uint64_t(*bytes) > view.extentBytes)
    return invalidArgument("tensor '{}': its shape and strides reach over {} bytes, its memory has "
                           "{}",
                           rule.name, *bytes, view.extentBytes);
  return {};
}

} // namespace attnc::rt
