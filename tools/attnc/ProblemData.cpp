// Generated problems and poisoned outputs.
#include "ProblemData.h"

#include "Random.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <functional>
#include <limits>

using namespace llvm;

namespace attnc::cli {

static constexpr int64_t kGuardBytes = 4096;
static constexpr uint8_t kGuardByte = 0xa5, kPoisonByte = 0xff;
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<int64_t> tensorShape(const Spec &spec, const ProblemShape &shape,
                                 const std::string &name) {
  bool varlen = spec.seq == SpecSeq::Varlen;
  if (name == "k" || name == "v") {
    int64_t dim = name == "k" ? spec.dimQk : spec.dimV;
    if (spec.isPaged())
      return {shape.pages, spec.headsKv, *spec.pageSize, dim};
    return varlen ? std::vector<int64_t>{1, spec.headsKv, shape.totalKv() + shape.tailKv, dim}
                  : std::vector<int64_t>{shape.batch, spec.headsKv, shape.maxKv, dim};
  }
  std::vector<int64_t> result{varlen ? 1 : shape.batch, spec.headsQ,
                              varlen ? shape.totalQ() + shape.tailQ : shape.maxQ};
  if (name != "lse")
    result.push_back(name == "q" ? spec.dimQk : spec.dimV);
  return result;
}

HostTensor makeTensor(const Spec &spec, const std::string &name, DType dtype,
                      std::vector<int64_t> shape) {
  bool ordered = name == "q" || name == "k" || name == "v" || name == "o";
  return ordered && spec.layout == SpecLayout::BSHD ? HostTensor::emptyBSHD(dtype, std::move(shape))
                                                    : HostTensor::empty(dtype, std::move(shape));
}

/// Calls `visit(index, address)` for every element, last dimension innermost.
static void forEachElement(const HostTensor &tensor,
                           function_ref<void(ArrayRef<int64_t>, uint8_t *)> visit) {
  int64_t rank = tensor.rank(), size = dtypeSize(tensor.dtype);
  SmallVector<int64_t, 6> index(rank, 0);
  for (int64_t n = tensor.numElements(); n > 0; --n) {
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d)
      at += index[d] * tensor.strides[d];
    visit(index, tensor.data() + at * size);
    for (int64_t d = rank - 1; d >= 0 && ++index[d] == tensor.shape[d]; --d)
      index[d] = 0;
  }
}

static void fill(HostTensor &tensor, function_ref<double(ArrayRef<int64_t>)> value) {
  forEachElement(tensor, [&](ArrayRef<int64_t> index, uint8_t *address) {
    storeElement(address, tensor.dtype, value(index));
  });
}

/// One value of the given kind. `row` is the position along the sequence.
static double drawValue(DataKind kind, bool isKey, int64_t row, Random &random) {
  double normal = random.normal();
  switch (kind) {
  case DataKind::Outliers:
    return isKey && row % 16 == 5 ? 50 * normal : normal;
  case DataKind::Extreme: {
    // 2^-24 is the least subnormal of f16; 2^15.99 is below its largest finite value.
    double magnitude = std::exp2(-24 + 39.99 * random.uniform());
    return normal < 0 ? -magnitude : magnitude;
  }
  default:
    return normal;
  }
}

static HostTensor makeInts(std::vector<int64_t> shape, ArrayRef<int64_t> values) {
  HostTensor tensor = HostTensor::empty(DType::I32, std::move(shape));
  for (auto [i, value] : enumerate(values))
    storeElement(tensor.data() + i * dtypeSize(DType::I32), DType::I32, static_cast<double>(value));
  return tensor;
}

/// [0, l0, l0 + l1, …].
static HostTensor makeOffsets(ArrayRef<int64_t> lengths) {
  std::vector<int64_t> offsets{0};
  for (int64_t length : lengths)
    offsets.push_back(offsets.back() + length);
  int64_t count = static_cast<int64_t>(offsets.size());
  return makeInts({count}, offsets);
}

/// Gives every sequence pages in a shuffled order; entries past its length are −1.
static std::vector<int64_t> makeBlockTable(const ProblemShape &shape, int64_t pageSize,
                                           Random &random) {
  std::vector<int64_t> free(shape.pages);
  for (int64_t i = 0; i < shape.pages; ++i)
    free[i] = i;
  for (int64_t i = shape.pages - 1; i > 0; --i)
    std::swap(free[i], free[random.integer(0, i)]);
  std::vector<int64_t> table(shape.batch * shape.maxPages, -1);
  size_t next = 0;
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t p = 0; p * pageSize < shape.lensKv[b]; ++p)
      table[b * shape.maxPages + p] = free[next++];
  return table;
}

/// Fills a K or V cache; what no sequence may see is NaN.
static void fillCache(const Spec &spec, const ProblemShape &shape, ArrayRef<int64_t> table,
                      DataKind kind, bool isKey, Random &random, HostTensor &tensor) {
  if (!spec.isPaged()) {
    bool ragged = spec.seq == SpecSeq::KvLens;
    fill(tensor, [&](ArrayRef<int64_t> index) {
      double value = drawValue(kind, isKey, index[2], random);
      return ragged && index[2] >= shape.lensKv[index[0]] ? kNaN : value;
    });
    return;
  }
  // How many tokens of each page are named.
  std::vector<int64_t> visible(shape.pages, 0), first(shape.pages, 0);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t p = 0; p < shape.maxPages; ++p)
      if (int64_t page = table[b * shape.maxPages + p]; page >= 0) {
        first[page] = p * *spec.pageSize;
        visible[page] = std::min(*spec.pageSize, shape.lensKv[b] - first[page]);
      }
  fill(tensor, [&](ArrayRef<int64_t> index) {
    double value = drawValue(kind, isKey, first[index[0]] + index[2], random);
    return index[2] >= visible[index[0]] ? kNaN : value;
  });
}

/// Queries of the first KV head's group become a multiple of some key, so that one weight
/// dominates.
static void makeOneHot(const Spec &spec, Problem &problem) {
  if (spec.isPaged())
    return;
  HostTensor &q = problem.inputs["q"];
  const HostTensor &k = problem.inputs["k"];
  int64_t group = spec.headsQ / spec.headsKv, size = dtypeSize(q.dtype);
  if (k.shape[2] == 0)
    return;
  for (int64_t b = 0; b < q.shape[0]; ++b)
    for (int64_t h = 0; h < group; ++h)
      for (int64_t s = 0; s < q.shape[2]; ++s) {
        int64_t row = spec.seq == SpecSeq::KvLens
                          ? s % std::max<int64_t>(1, problem.shape.lensKv[b])
                          : s % k.shape[2];
        for (int64_t d = 0; d < spec.dimQk; ++d) {
          double value = 8 * k.get({b, 0, row, d});
          int64_t at = b * q.strides[0] + h * q.strides[1] + s * q.strides[2] + d * q.strides[3];
          storeElement(q.data() + at * size, q.dtype, std::isfinite(value) ? value : 0);
        }
      }
}

static std::vector<int64_t> argShape(const SpecArg &arg, const ProblemShape &shape) {
  std::vector<int64_t> result = arg.shape;
  for (auto [i, extent] : enumerate(result))
    if (extent < 0)
      extent = openExtent(arg, i, shape);
  return result;
}

static void makeTensorArg(const Spec &spec, const SpecArg &arg, Random &random, Problem &problem) {
  HostTensor tensor = HostTensor::empty(arg.dtype, argShape(arg, problem.shape));
  bool slopes = any_of(spec.scores, [&](const SpecScore &score) {
    return score.kind == SpecScore::Kind::AlibiSlopes && score.arg == arg.name;
  });
  bool prefix = any_of(spec.masks, [&](const SpecMask &mask) {
    return mask.kind == SpecMask::Kind::PrefixLm && mask.arg == arg.name;
  });
  bool document = any_of(spec.masks, [&](const SpecMask &mask) {
    return mask.kind == SpecMask::Kind::Document && mask.arg == arg.name;
  });
  int64_t last = tensor.shape.back();
  fill(tensor, [&](ArrayRef<int64_t> index) -> double {
    if (slopes)
      return std::exp2(-8.0 * static_cast<double>(index[0] + 1) / static_cast<double>(last));
    if (prefix)
      return static_cast<double>(random.integer(0, problem.shape.maxKv));
    if (document)
      return static_cast<double>(index.back() * 5 / std::max<int64_t>(1, last));
    if (arg.dtype == DType::Bool)
      return random.uniform() < 0.7 ? 1 : 0;
    if (arg.dtype == DType::I32)
      return static_cast<double>(random.integer(0, 3));
    return 0.5 * random.normal();
  });
  problem.inputs["arg." + arg.name] = std::move(tensor);
}

void chooseScalars(const Spec &spec, const std::map<std::string, double> &args, Problem &problem) {
  for (const SpecArg &arg : spec.args) {
    if (arg.isTensor())
      continue;
    std::string name = "arg." + arg.name;
    auto given = args.find(arg.name);
    if (given != args.end()) {
      problem.scalars[name] = given->second;
      continue;
    }
    double value = arg.dtype == DType::I32
                       ? static_cast<double>(std::max<int64_t>(1, problem.shape.maxKv / 3))
                       : 30.0;
    problem.scalars[name] = value;
    problem.chosenScalars.push_back(formatv("{0} = {1}", name, value));
  }
}

void generateData(const Spec &spec, DataKind kind, uint64_t seed,
                  const std::map<std::string, double> &args, Problem &problem) {
  const ProblemShape &shape = problem.shape;
  Random random(seed);
  HostTensor q = makeTensor(spec, "q", spec.dtypeQ, tensorShape(spec, shape, "q"));
  fill(q, [&](ArrayRef<int64_t> index) { return drawValue(kind, false, index[2], random); });
  problem.inputs["q"] = std::move(q);

  std::vector<int64_t> table;
  if (spec.isPaged()) {
    table = makeBlockTable(shape, *spec.pageSize, random);
    problem.inputs["block_table"] = makeInts({shape.batch, shape.maxPages}, table);
  }
  for (const char *name : {"k", "v"}) {
    HostTensor tensor = makeTensor(spec, name, spec.dtypeKv, tensorShape(spec, shape, name));
    fillCache(spec, shape, table, kind, name[0] == 'k', random, tensor);
    problem.inputs[name] = std::move(tensor);
  }
  if (kind == DataKind::OneHot)
    makeOneHot(spec, problem);
  if (spec.seq == SpecSeq::KvLens)
    problem.inputs["kv_lens"] = makeInts({shape.batch}, shape.lensKv);
  if (spec.seq == SpecSeq::Varlen) {
    problem.inputs["cu_seqlens_q"] = makeOffsets(shape.lensQ);
    problem.inputs["cu_seqlens_kv"] = makeOffsets(shape.lensKv);
  }
  if (spec.sinks) {
    HostTensor sinks = HostTensor::empty(DType::F32, {spec.headsQ});
    fill(sinks, [&](ArrayRef<int64_t>) { return 2 * random.normal(); });
    problem.inputs["sinks"] = std::move(sinks);
  }
  if (spec.bias) {
    HostTensor bias =
        HostTensor::empty(*spec.bias, {shape.batch, spec.headsQ, shape.maxQ, shape.maxKv});
    fill(bias, [&](ArrayRef<int64_t>) { return random.normal(); });
    problem.inputs["bias"] = std::move(bias);
  }
  for (const SpecArg &arg : spec.args)
    if (arg.isTensor())
      makeTensorArg(spec, arg, random, problem);
  chooseScalars(spec, args, problem);
}

HostTensor makePoisonedOutput(const Spec &spec, const ProblemShape &shape,
                              const std::string &name) {
  DType dtype = name == "lse" ? DType::F32 : spec.dtypeO;
  HostTensor tensor = makeTensor(spec, name, dtype, tensorShape(spec, shape, name));
  int64_t bytes = tensor.numElements() * dtypeSize(dtype);
  auto storage = std::make_shared<std::vector<uint8_t>>(bytes + 2 * kGuardBytes, kGuardByte);
  std::memset(storage->data() + kGuardBytes, kPoisonByte, bytes);
  tensor.storage = std::move(storage);
  tensor.offset = kGuardBytes / dtypeSize(dtype);
  return tensor;
}

bool guardsIntact(const HostTensor &output) {
  const std::vector<uint8_t> &bytes = *output.storage;
  auto isGuard = [](uint8_t byte) { return byte == kGuardByte; };
  return std::all_of(bytes.begin(), bytes.begin() + kGuardBytes, isGuard) &&
         std::all_of(bytes.end() - kGuardBytes, bytes.end(), isGuard);
}

Unwritten countUnwritten(const HostTensor &output, int64_t tail) {
  Unwritten count;
  const int64_t size = dtypeSize(output.dtype), tokens = output.shape[2] - tail;
  forEachElement(output, [&](ArrayRef<int64_t> index, const uint8_t *address) {
    bool poisoned =
        std::all_of(address, address + size, [](uint8_t byte) { return byte == kPoisonByte; });
    if (index[2] < tokens)
      count.rows += poisoned;
    else
      count.tailWritten += !poisoned;
  });
  return count;
}

} // namespace attnc::cli
