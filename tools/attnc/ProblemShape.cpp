// Sizes of problems.
#include "ProblemShape.h"

#include "Random.h"

#include "attnc/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;

namespace attnc::cli {

int64_t ProblemShape::totalQ() const {
  return std::accumulate(lensQ.begin(), lensQ.end(), int64_t{0});
}

int64_t ProblemShape::totalKv() const {
  return std::accumulate(lensKv.begin(), lensKv.end(), int64_t{0});
}

std::string ProblemShape::text() const {
  return "b=" + std::to_string(batch) + " sq=" + std::to_string(maxQ) +
         " skv=" + std::to_string(maxKv);
}

std::map<std::string, int64_t> ProblemShape::symbols(const Spec &spec, int64_t splits) const {
  return {{"batch", batch},      {"heads_q", spec.headsQ}, {"heads_kv", spec.headsKv},
          {"max_len_q", maxQ},   {"max_len_kv", maxKv},    {"splits", splits},
          {"total_q", totalQ()}, {"total_kv", totalKv()}};
}

static std::string parseKeys(StringRef text, std::map<StringRef, int64_t *> &keys) {
  SmallVector<StringRef> fields;
  text.split(fields, ',', -1, /*KeepEmpty=*/false);
  for (StringRef field : fields) {
    auto [key, value] = field.split('=');
    auto slot = keys.find(key.trim());
    if (slot == keys.end())
      return ("--shape: unknown size '" + key.trim() + "'" +
              didYouMean(key.trim(), {"b", "sq", "skv"}) +
              "; it takes b (sequences), sq and skv (tokens), as in b=4,sq=1024,skv=1024")
          .str();
    int64_t number = 0;
    if (value.trim().getAsInteger(10, number) || number < 0 || number > kMaxExtent)
      return ("--shape: '" + key.trim() + "' is a whole number from 0 to " + Twine(kMaxExtent) +
              ", got '" + value.trim() + "'")
          .str();
    *slot->second = number;
  }
  return {};
}

/// Lengths of a ragged batch: the first is the longest, the third (if there is one) is empty, the
/// rest are drawn.
static std::vector<int64_t> drawLengths(int64_t batch, int64_t longest, Random &random) {
  std::vector<int64_t> lengths(batch, longest);
  for (int64_t i = 1; i < batch; ++i)
    lengths[i] = i == 2 ? 0 : random.integer(std::min<int64_t>(1, longest), longest);
  return lengths;
}

void completeShape(const Spec &spec, ProblemShape &shape) {
  if (!spec.isPaged())
    return;
  int64_t page = *spec.pageSize;
  shape.maxPages = std::max<int64_t>(1, divideCeil(shape.maxKv, page));
  int64_t used = 0;
  for (int64_t length : shape.lensKv)
    used += divideCeil(length, page);
  // A few pages belong to nobody: they hold NaN, which must not be seen.
  shape.pages = used + 3;
}

int64_t openExtent(const SpecArg &arg, size_t dim, const ProblemShape &shape) {
  int64_t tokens = shape.maxQ + shape.maxKv;
  if (arg.dtype != DType::I32 && arg.dtype != DType::Bool)
    return 2 * tokens + 4096;
  return dim == 0 ? shape.batch : tokens;
}

std::string parseShape(const std::string &text, const Spec &spec, ProblemShape &shape) {
  bool decode = spec.kind == SpecKind::Decode;
  // Small, and no multiple of any tile.
  shape.batch = decode ? 4 : 2;
  shape.maxQ = decode ? spec.maxQ : 300;
  shape.maxKv = -1;
  std::map<StringRef, int64_t *> keys{
      {"b", &shape.batch}, {"sq", &shape.maxQ}, {"skv", &shape.maxKv}};
  std::string fault = parseKeys(text, keys);
  if (!fault.empty())
    return fault;
  if (decode && shape.maxQ > spec.maxQ)
    return "--shape: sq=" + std::to_string(shape.maxQ) + ", but the spec's decode takes at most " +
           std::to_string(spec.maxQ) + " query tokens (seq: {q: ...})";
  if (shape.maxKv < 0)
    shape.maxKv = decode ? 1000 : shape.maxQ;
  // Offsets of a packed batch are i32, and so is the count of tokens in a kernel.
  int64_t longest = std::max(shape.maxQ, shape.maxKv);
  if (spec.seq == SpecSeq::Varlen && shape.batch * longest > kMaxExtent)
    return "--shape: " + std::to_string(shape.batch) + " packed sequences of up to " +
           std::to_string(longest) + " tokens; at most " + std::to_string(kMaxExtent) +
           " tokens fit the 32-bit offsets of a packed batch, use a smaller b, sq or skv";
  return {};
}

void drawShape(const Spec &spec, uint64_t seed, ProblemShape &shape) {
  shape.lensQ.assign(shape.batch, shape.maxQ);
  shape.lensKv.assign(shape.batch, shape.maxKv);
  Random random(seed ^ 0x5ea9);
  if (spec.seq == SpecSeq::KvLens)
    shape.lensKv = drawLengths(shape.batch, shape.maxKv, random);
  if (spec.seq == SpecSeq::Varlen) {
    shape.lensQ = drawLengths(shape.batch, shape.maxQ, random);
    shape.lensKv = shape.lensQ;
    // Chunked prefill: every sequence has the same number of cached keys in front.
    for (int64_t &length : shape.lensKv)
      length = std::max<int64_t>(0, length + shape.maxKv - shape.maxQ);
  }
  completeShape(spec, shape);
}

} // namespace attnc::cli
