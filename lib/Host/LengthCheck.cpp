// Checks of lengths and page tables.
#include "LengthCheck.h"

#include <algorithm>

namespace attnc {

static const HostTensor *find(const std::map<std::string, HostTensor> &tensors,
                              const std::string &name, int64_t rank) {
  auto found = tensors.find(name);
  // Another rank or type is told when the tensor is bound.
  bool right = found != tensors.end() && found->second.rank() == rank && found->second.storage;
  return right ? &found->second : nullptr;
}

/// Packed sequences: offsets from 0 on, never falling, none past the tokens of `tensor`.
static std::string checkOffsets(const std::map<std::string, HostTensor> &tensors,
                                const std::string &name, const std::string &tensor) {
  const HostTensor *offsets = find(tensors, name, 1), *rows = find(tensors, tensor, 4);
  if (!offsets || !rows)
    return "";
  double before = 0;
  for (int64_t i = 0; i < offsets->shape[0]; ++i) {
    double offset = offsets->get({i});
    std::string what = name + "[" + std::to_string(i) + "] is " +
                       std::to_string(static_cast<int64_t>(offset)) + "; ";
    if (i == 0 && offset != 0)
      return what + "it must be 0";
    if (offset < before)
      return what + "offsets never fall";
    if (offset > static_cast<double>(rows->shape[2]))
      return what + "'" + tensor + "' holds " + std::to_string(rows->shape[2]) + " tokens";
    before = offset;
  }
  return "";
}

static std::string checkPages(const std::map<std::string, HostTensor> &tensors) {
  const HostTensor *table = find(tensors, "block_table", 2), *lens = find(tensors, "kv_lens", 1),
                   *k = find(tensors, "k", 4), *v = find(tensors, "v", 4);
  if (!table || !lens || !k || !v)
    return "";
  if (table->shape[0] < lens->shape[0])
    return "block_table has " + std::to_string(table->shape[0]) + " rows for " +
           std::to_string(lens->shape[0]) + " sequences";
  const int64_t page = k->shape[2], columns = table->shape[1];
  const int64_t pages = std::min(k->shape[0], v->shape[0]);
  for (int64_t b = 0; b < lens->shape[0]; ++b) {
    const auto length = static_cast<int64_t>(lens->get({b}));
    if (length > columns * page)
      return "kv_lens[" + std::to_string(b) + "] is " + std::to_string(length) +
             "; block_table has " + std::to_string(columns) + " pages of " + std::to_string(page) +
             " tokens a sequence, room for " + std::to_string(columns * page);
    for (int64_t column = 0; column * page < length; ++column) {
      const auto id = static_cast<int64_t>(table->get({b, column}));
      if (id < 0 || id >= pages)
        return "block_table[" + std::to_string(b) + ", " + std::to_string(column) + "] is " +
               std::to_string(id) + "; the pool has pages 0 to " + std::to_string(pages - 1);
    }
  }
  return "";
}

std::string checkLengths(const std::map<std::string, HostTensor> &tensors) {
  std::string fault = checkOffsets(tensors, "cu_seqlens_q", "q");
  if (fault.empty())
    fault = checkOffsets(tensors, "cu_seqlens_kv", "k");
  if (fault.empty())
    fault = checkOffsets(tensors, "cu_seqlens_kv", "v");
  return fault.empty() ? checkPages(tensors) : fault;
}

} // namespace attnc
