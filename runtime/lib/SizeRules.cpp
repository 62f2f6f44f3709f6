// Size checks and split choice.
#include "SizeRules.h"

#include "CheckedMath.h"
#include "StatusFormat.h"

#include <algorithm>
#include <limits>

namespace attnc::rt {
namespace {

constexpr std::int64_t maxInt32 = std::numeric_limits<std::int32_t>::max();

Status checkRange(const char *name, std::int64_t value, std::int64_t min = 0) {
  if (value < min || value > maxInt32)
    return invalidArgument("size {} is {}; allowed are {} to {}", name, value, min, maxInt32);
  return {};
}

Status checkHostLengths(const char *name, const std::vector<std::int32_t> &lengths,
                        const ProblemSizes &sizes) {
  if (lengths.empty())
    return {};
  if (lengths.size() != std::size_t(sizes.batch))
    return invalidArgument("{}: {} lengths for a batch of {}", name, lengths.size(), sizes.batch);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0 || lengths[i] > sizes.maxLenKv)
      return invalidArgument("{}[{}] is {}; allowed are 0 to max_len_kv, which is {}", name, i,
                             lengths[i], sizes.maxLenKv);
  return {};
}

Status checkOffsets(const char *name, const std::vector<std::int32_t> &offsets, std::int64_t batch,
                    std::int64_t maxLength, const char *maxName, std::int64_t total,
                    const char *totalName) {
  if (offsets.empty())
    return {};
  if (offsets.size() != std::size_t(batch) + 1)
    return invalidArgument("{}: {} entries; a batch of {} has {}", name, offsets.size(), batch,
                           batch + 1);
  if (offsets.front() != 0)
    return invalidArgument("{}[0] is {}; it must be 0", name, offsets.front());
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    const std::int64_t length = std::int64_t(offsets[i]) - offsets[i - 1];
    if (length < 0)
      return invalidArgument("{}[{}] is {}, less than the {} before it; offsets never fall", name,
                             i, offsets[i], offsets[i - 1]);
    if (length > maxLength)
      return invalidArgument("{}: sequence {} has {} tokens; {} is {}", name, i - 1, length,
                             maxName, maxLength);
  }
  if (offsets.back() > total)
    return invalidArgument("{}: the last offset is {}; {} is {}", name, offsets.back(), totalName,
                           total);
  return {};
}

bool mentionsSplits(const Expression &expression) {
  const std::vector<std::string> symbols = expression.symbols();
  return std::find(symbols.begin(), symbols.end(), "splits") != symbols.end();
}

} // namespace

Status checkSizes(const Package &package, const ProblemSizes &sizes) {
  const ProblemDesc &problem = package.problem;
  const struct {
    const char *name;
    std::int64_t value;
    std::int64_t min;
  } ranges[] = {{"batch", sizes.batch, 0},         {"max_len_q", sizes.maxLenQ, 0},
                {"max_len_kv", sizes.maxLenKv, 0}, {"splits", sizes.splits, 1},
                {"total_q", sizes.totalQ, 0},      {"total_kv", sizes.totalKv, 0},
                {"pages", sizes.pages, 0},         {"max_pages", sizes.maxPages, 0}};
  for (const auto &range : ranges)
    if (Status status = checkRange(range.name, range.value, range.min); !status.ok())
      return status;
  if (problem.maxQ && sizes.maxLenQ > *problem.maxQ)
    return unsupported("max_len_q is {}; package '{}' was compiled for query lengths up to {}",
                       sizes.maxLenQ, package.name, *problem.maxQ);
  if (sizes.splits != 1 && !usesSplits(package))
    return unsupported("splits is {}; package '{}' does not split the KV range, use 1 (or 0 to let "
                       "the runtime choose)",
                       sizes.splits, package.name);
  if (problem.pageSize && sizes.maxPages) {
    const std::optional<std::int64_t> room = checkedMul(sizes.maxPages, *problem.pageSize);
    if (room && *room < sizes.maxLenKv)
      return invalidArgument("max_pages is {}, room for {} tokens in pages of {}; max_len_kv is {}",
                             sizes.maxPages, *room, *problem.pageSize, sizes.maxLenKv);
  }
  if (Status status = checkHostLengths("kv_lens", sizes.hostKvLens, sizes); !status.ok())
    return status;
  if (Status status = checkOffsets("cu_seqlens_q", sizes.hostCuSeqlensQ, sizes.batch, sizes.maxLenQ,
                                   "max_len_q", sizes.totalQ, "total_q");
      !status.ok())
    return status;
  return checkOffsets("cu_seqlens_kv", sizes.hostCuSeqlensKv, sizes.batch, sizes.maxLenKv,
                      "max_len_kv", sizes.totalKv, "total_kv");
}

Result<ProblemSizes> completeSizes(const Package &package, ProblemSizes sizes) {
  if (package.problem.seq == "varlen")
    return sizes;
  const struct {
    const char *name;
    std::int64_t length;
    std::int64_t *total;
  } totals[] = {{"total_q", sizes.maxLenQ, &sizes.totalQ},
                {"total_kv", sizes.maxLenKv, &sizes.totalKv}};
  for (const auto &entry : totals) {
    const std::optional<std::int64_t> product = checkedMul(sizes.batch, entry.length);
    if (!product || *product < 0 || *product > maxInt32)
      return unsupported("batch {} times length {} is more than the {} tokens that {} can count",
                         sizes.batch, entry.length, maxInt32, entry.name);
    *entry.total = *product;
  }
  return sizes;
}

SymbolTable symbolsOf(const Package &package, const ProblemSizes &sizes, int multiprocessors) {
  return {{"batch", sizes.batch},
          {"heads_q", package.problem.headsQ},
          {"heads_kv", package.problem.headsKv},
          {"max_len_q", sizes.maxLenQ},
          {"max_len_kv", sizes.maxLenKv},
          {"splits", sizes.splits},
          {"total_q", sizes.totalQ},
          {"total_kv", sizes.totalKv},
          {"multiprocessors", multiprocessors > 0 ? multiprocessors : maxInt32}};
}

bool usesSplits(const Package &package) {
  for (const KernelDesc &kernel : package.kernels) {
    if (mentionsSplits(kernel.grid))
      return true;
    for (const ParamDesc &param : kernel.params)
      if (param.name == "splits")
        return true;
  }
  for (const WorkspaceDesc &workspace : package.workspace)
    for (const Expression &dimension : workspace.shape)
      if (mentionsSplits(dimension))
        return true;
  return false;
}

Result<std::int64_t> chooseSplits(const Package &package, const ProblemSizes &sizes,
                                  int multiprocessors) {
  if (!usesSplits(package))
    return std::int64_t(1);
  ProblemSizes unsplit = sizes;
  unsplit.splits = 1;
  Result<std::int64_t> blocks = package.kernels.front().grid.evaluate(symbolsOf(package, unsplit, multiprocessors));
  if (!blocks)
    return blocks.status().withContext("grid of " + package.kernels.front().entry);
  constexpr std::int64_t shortestPart = 256, mostSplits = 128;
  const std::int64_t wanted = *blocks > 0 ? ceilDiv(2 * std::int64_t(multiprocessors), *blocks) : 1;
  const std::int64_t useful = ceilDiv(std::max<std::int64_t>(sizes.maxLenKv, 1), shortestPart);
  return std::max<std::int64_t>(1, std::min({wanted, useful, mostSplits}));
}

} // namespace attnc::rt
