// Safetensors files of problems.
#include "ProblemFiles.h"

#include "MemoryLimit.h"
#include "Messages.h"
#include "PackageBuilder.h"

#include "attnc/Runtime/Safetensors.h"
#include "attnc/Support/ExitCodes.h"
#include "attnc/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;

namespace attnc::cli {

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text.empty() ? "[]" : text + "]";
}

namespace {
/// Turns the file's tensors into the problem's, checking each against the spec.
class Reader {
public:
  Reader(const std::string &path, const Spec &spec, const rt::TensorFile &file, Problem &problem)
      : path(path), spec(spec), file(file), problem(problem) {}

  int read(const std::map<std::string, double> &args);

private:
  /// A tensor by name, in the file's order; null after an error.
  const rt::HostTensor *take(const std::string &name, DType dtype, size_t rank);
  bool readOrdered(const std::string &name, DType dtype);
  bool readPlain(const std::string &name, DType dtype, size_t rank);
  bool readLengths();
  bool checkShapes();
  bool fail(const Twine &message) {
    error(path + ": " + message);
    return false;
  }

  const std::string &path;
  const Spec &spec;
  const rt::TensorFile &file;
  Problem &problem;
  std::vector<std::string> used;
  bool outOfMemory = false;
};
} // namespace

const rt::HostTensor *Reader::take(const std::string &name, DType dtype, size_t rank) {
  const rt::HostTensor *tensor = file.find(name);
  if (!tensor) {
    fail("has no tensor '" + name + "', which " + spec.name + " needs");
    return nullptr;
  }
  if (tensor->dtype != runtimeDType(dtype)) {
    fail("'" + name + "' is " + rt::dataTypeName(tensor->dtype) + "; the spec says " +
         dtypeName(dtype));
    return nullptr;
  }
  if (tensor->shape.size() != rank) {
    fail("'" + name + "' has shape " + shapeText(tensor->shape) + "; it takes " + Twine(rank) +
         " dimensions");
    return nullptr;
  }
  // An empty tensor can claim any other extents: what follows multiplies them.
  int64_t rows = 1;
  for (int64_t extent : tensor->shape)
    if (extent > kMaxExtent || MulOverflow(rows, std::max<int64_t>(extent, 1), rows)) {
      fail("'" + name + "' has shape " + shapeText(tensor->shape) + "; an extent is at most " +
           Twine(kMaxExtent) + ", and their product below 2^63");
      return nullptr;
    }
  used.push_back(name);
  return tensor;
}

static HostTensor wrap(const rt::HostTensor &tensor, DType dtype, std::vector<int64_t> shape,
                       std::vector<int64_t> strides) {
  HostTensor result;
  result.dtype = dtype;
  result.shape = std::move(shape);
  result.strides = std::move(strides);
  result.storage = std::make_shared<std::vector<uint8_t>>(tensor.data.size());
  if (!tensor.data.empty())
    std::memcpy(result.storage->data(), tensor.data.data(), tensor.data.size());
  return result;
}

bool Reader::readOrdered(const std::string &name, DType dtype) {
  bool packed = spec.seq == SpecSeq::Varlen;
  const rt::HostTensor *tensor = take(name, dtype, packed ? 3 : 4);
  if (!tensor)
    return false;
  std::vector<int64_t> shape = tensor->shape;
  if (packed)
    shape.insert(shape.begin(), 1);
  std::vector<int64_t> strides(4, 1);
  for (int d = 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  if (spec.layout == SpecLayout::BSHD) {
    std::swap(shape[1], shape[2]);
    std::swap(strides[1], strides[2]);
  }
  problem.inputs[name] = wrap(*tensor, dtype, std::move(shape), std::move(strides));
  return true;
}

bool Reader::readPlain(const std::string &name, DType dtype, size_t rank) {
  const rt::HostTensor *tensor = take(name, dtype, rank);
  if (!tensor)
    return false;
  HostTensor layout = HostTensor::empty(dtype, tensor->shape);
  problem.inputs[name] = wrap(*tensor, dtype, tensor->shape, layout.strides);
  // Bias dimensions of extent 1 are repeated.
  if (name == "bias")
    for (auto [extent, stride] :
         zip_equal(problem.inputs[name].shape, problem.inputs[name].strides))
      if (extent == 1)
        stride = 0;
  return true;
}

/// Differences of an offsets tensor; false when they are no lengths.
static bool lengthsFromOffsets(const HostTensor &offsets, std::vector<int64_t> &lengths) {
  for (int64_t i = 0; i + 1 < offsets.shape[0]; ++i)
    lengths.push_back(static_cast<int64_t>(offsets.get({i + 1}) - offsets.get({i})));
  return offsets.shape[0] > 0 && offsets.get({0}) == 0 &&
         all_of(lengths, [](int64_t length) { return length >= 0; });
}

bool Reader::readLengths() {
  ProblemShape &shape = problem.shape;
  const HostTensor &q = problem.inputs["q"], &k = problem.inputs["k"];
  auto longest = [](ArrayRef<int64_t> lengths) {
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  };
  if (spec.seq == SpecSeq::Varlen) {
    if (!readPlain("cu_seqlens_q", DType::I32, 1) || !readPlain("cu_seqlens_kv", DType::I32, 1))
      return false;
    if (!lengthsFromOffsets(problem.inputs["cu_seqlens_q"], shape.lensQ) ||
        !lengthsFromOffsets(problem.inputs["cu_seqlens_kv"], shape.lensKv) ||
        shape.lensQ.size() != shape.lensKv.size())
      return fail("cu_seqlens_q and cu_seqlens_kv hold batch + 1 offsets each, from 0 and never "
                  "falling");
    shape.batch = static_cast<int64_t>(shape.lensQ.size());
    shape.maxQ = longest(shape.lensQ);
    shape.maxKv = longest(shape.lensKv);
    shape.tailQ = q.shape[2] - shape.totalQ();
    shape.tailKv = k.shape[2] - shape.totalKv();
    if (shape.tailQ < 0 || shape.tailKv < 0)
      return fail("the offsets end at " + Twine(shape.totalQ()) + " and " + Twine(shape.totalKv()) +
                  ", but q and k hold " + Twine(q.shape[2]) + " and " + Twine(k.shape[2]) +
                  " tokens");
    return true;
  }
  shape.batch = q.shape[0];
  shape.maxQ = q.shape[2];
  shape.maxKv = k.shape[2];
  if (checkMemory(path + ": " + shape.text() + " with its reference", estimateBytes(spec, shape),
                  "use a smaller problem"))
    return outOfMemory = true, false;
  shape.lensQ.assign(shape.batch, shape.maxQ);
  if (spec.isPaged()) {
    if (!readPlain("block_table", DType::I32, 2))
      return false;
    const HostTensor &table = problem.inputs["block_table"];
    shape.pages = k.shape[0];
    shape.maxPages = table.shape[1];
    shape.maxKv = shape.maxPages * *spec.pageSize;
    if (table.shape[0] != shape.batch)
      return fail("block_table has " + Twine(table.shape[0]) + " rows for " + Twine(shape.batch) +
                  " sequences");
  }
  shape.lensKv.assign(shape.batch, shape.maxKv);
  if (spec.seq != SpecSeq::KvLens)
    return true;
  if (!readPlain("kv_lens", DType::I32, 1))
    return false;
  const HostTensor &lens = problem.inputs["kv_lens"];
  if (lens.shape[0] != shape.batch)
    return fail("kv_lens has " + Twine(lens.shape[0]) + " entries for " + Twine(shape.batch) +
                " sequences");
  for (int64_t b = 0; b < shape.batch; ++b) {
    shape.lensKv[b] = static_cast<int64_t>(lens.get({b}));
    if (shape.lensKv[b] < 0 || shape.lensKv[b] > shape.maxKv)
      return fail("kv_lens[" + Twine(b) + "] is " + Twine(shape.lensKv[b]) +
                  (spec.isPaged() ? "; block_table has " + std::to_string(shape.maxPages) +
                                        " pages of " + std::to_string(*spec.pageSize) +
                                        " tokens a sequence, room for 0 to "
                                  : std::string("; the cache holds from 0 to ")) +
                  Twine(shape.maxKv) + " tokens");
    for (int64_t p = 0; spec.isPaged() && p * *spec.pageSize < shape.lensKv[b]; ++p) {
      double page = problem.inputs["block_table"].get({b, p});
      if (page < 0 || page >= static_cast<double>(shape.pages))
        return fail("block_table[" + Twine(b) + ", " + Twine(p) + "] is " +
                    Twine(static_cast<int64_t>(page)) + "; the pool has pages 0 to " +
                    Twine(shape.pages - 1));
    }
  }
  return true;
}

bool Reader::checkShapes() {
  for (const char *name : {"q", "k", "v"}) {
    std::vector<int64_t> expected = tensorShape(spec, problem.shape, name);
    const std::vector<int64_t> &found = problem.inputs[name].shape;
    if (found != expected)
      return fail(Twine("'") + name + "' is " + shapeText(found) +
                  " in the order [batch, heads, tokens, dim]; " + spec.name +
                  " with these inputs "
                  "takes " +
                  shapeText(expected));
  }
  if (spec.bias) {
    std::vector<int64_t> expected{problem.shape.batch, spec.headsQ, problem.shape.maxQ,
                                  problem.shape.maxKv};
    HostTensor &bias = problem.inputs["bias"];
    for (auto [extent, want] : zip_equal(bias.shape, expected)) {
      if (extent != want && extent != 1)
        return fail("'bias' is " + shapeText(bias.shape) + "; each dimension is 1 or that of " +
                    shapeText(expected));
      extent = want;
    }
  }
  if (spec.sinks && problem.inputs["sinks"].shape[0] != spec.headsQ)
    return fail("'sinks' has " + Twine(problem.inputs["sinks"].shape[0]) + " entries for " +
                Twine(spec.headsQ) + " query heads");
  for (const SpecArg &arg : spec.args) {
    if (!arg.isTensor())
      continue;
    const std::vector<int64_t> &found = problem.inputs["arg." + arg.name].shape;
    for (auto [extent, want] : zip_equal(found, arg.shape))
      if (want >= 0 && extent != want)
        return fail("'arg." + arg.name + "' is " + shapeText(found) + "; the spec says " +
                    shapeText(arg.shape) + " (-1: any)");
  }
  return true;
}

int Reader::read(const std::map<std::string, double> &args) {
  bool ok = readOrdered("q", spec.dtypeQ) && readOrdered("k", spec.dtypeKv) &&
            readOrdered("v", spec.dtypeKv) && readLengths();
  if (ok && spec.sinks)
    ok = readPlain("sinks", DType::F32, 1);
  if (ok && spec.bias)
    ok = readPlain("bias", *spec.bias, 4);
  std::map<std::string, double> scalars = args;
  for (const SpecArg &arg : spec.args) {
    std::string name = "arg." + arg.name;
    if (ok && arg.isTensor())
      ok = readPlain(name, arg.dtype, arg.shape.size());
    const rt::HostTensor *scalar = arg.isTensor() ? nullptr : file.find(name);
    if (!ok || !scalar)
      continue;
    if (scalar->numElements() != 1 || scalar->dtype != runtimeDType(arg.dtype)) {
      fail("'" + name + "' is one " + dtypeName(arg.dtype));
      return kExitBadUsage;
    }
    used.push_back(name);
    if (!scalars.count(arg.name))
      scalars[arg.name] =
          loadElement(reinterpret_cast<const uint8_t *>(scalar->data.data()), arg.dtype);
  }
  if (!ok || !checkShapes())
    return outOfMemory ? kExitOutOfMemory : kExitBadUsage;
  for (const rt::HostTensor &tensor : file.tensors) {
    if (is_contained(used, tensor.name) || tensor.name == "o" || tensor.name == "lse")
      continue;
    std::vector<StringRef> known(used.begin(), used.end());
    fail("tensor '" + tensor.name + "' is nothing " + spec.name + " takes" +
         didYouMean(tensor.name, known));
    return kExitBadUsage;
  }
  chooseScalars(spec, scalars, problem);
  return kExitOk;
}

int readProblem(const std::string &path, const Spec &spec,
                const std::map<std::string, double> &args, Problem &problem) {
  uint64_t bytes = 0;
  // Twice: the file's tensors, and the problem's.
  if (!sys::fs::file_size(path, bytes))
    if (int code = checkMemory("'" + path + "'", SaturatingMultiply<uint64_t>(bytes, 2),
                               "use a smaller file"))
      return code;
  rt::Result<rt::TensorFile> file = rt::readSafetensors(path);
  if (!file.ok())
    return report(file.status());
  return Reader(path, spec, *file, problem).read(args);
}

int writeOutputs(const std::string &path, const Spec &spec,
                 const std::map<std::string, HostTensor> &outputs) {
  rt::TensorFile file;
  file.metadata["spec"] = printSpec(spec);
  for (const auto &[name, tensor] : outputs) {
    rt::HostTensor entry;
    entry.name = name;
    entry.dtype = runtimeDType(tensor.dtype);
    entry.shape = tensor.shape;
    if (name == "o" && spec.layout == SpecLayout::BSHD)
      std::swap(entry.shape[1], entry.shape[2]);
    if (spec.seq == SpecSeq::Varlen)
      entry.shape.erase(entry.shape.begin());
    entry.data.resize(tensor.numElements() * dtypeSize(tensor.dtype));
    // Outputs fill their storage in memory order, whatever the order of their dimensions.
    if (!entry.data.empty())
      std::memcpy(entry.data.data(), tensor.data(), entry.data.size());
    file.tensors.push_back(std::move(entry));
  }
  rt::Status status = rt::writeSafetensors(file, path);
  return status.ok() ? kExitOk : report(status);
}

} // namespace attnc::cli
