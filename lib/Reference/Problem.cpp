// Binds data to an attention op and checks it.
#include "Problem.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::reference;

std::optional<DType> reference::dtypeOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF16())
    return DType::F16;
  if (element.isBF16())
    return DType::BF16;
  if (element.isF32())
    return DType::F32;
  if (element.isF64())
    return DType::F64;
  if (element.isInteger(1))
    return DType::Bool;
  if (element.isInteger(32))
    return DType::I32;
  if (element.isInteger(64))
    return DType::I64;
  if (isa<Float8E4M3FNType>(element))
    return DType::F8E4M3;
  if (isa<Float8E5M2Type>(element))
    return DType::F8E5M2;
  return std::nullopt;
}

static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(shape))
    text += (i ? ", " : "") + (ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
  return text + "]";
}

std::string reference::bindArguments(func::FuncOp function, const Tensors &tensors,
                                     const Scalars &scalars, RegionBindings &bindings) {
  for (BlockArgument argument : function.getArguments()) {
    auto attr = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "attn.name");
    if (!attr)
      return "argument " + std::to_string(argument.getArgNumber()) + " of @" +
             function.getName().str() + " has no attn.name; give every argument one";
    std::string name = attr.str();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type) {
      auto scalar = scalars.find(name);
      if (scalar == scalars.end())
        return "the scalar '" + name + "' is missing";
      bindings.scalars[argument] = scalar->second;
      continue;
    }
    auto found = tensors.find(name);
    if (found == tensors.end())
      return "the tensor '" + name + "' is missing";
    const HostTensor &tensor = found->second;
    bool fits = tensor.rank() == type.getRank();
    for (int64_t d = 0; fits && d < tensor.rank(); ++d)
      fits = type.isDynamicDim(d) || type.getDimSize(d) == tensor.shape[d];
    if (!fits)
      return "the tensor '" + name + "' has shape " + shapeText(tensor.shape) + "; expected " +
             shapeText(type.getShape());
    std::optional<DType> dtype = dtypeOf(type);
    if (dtype && *dtype != tensor.dtype)
      return "the tensor '" + name + "' is " + dtypeName(tensor.dtype) + "; expected " +
             dtypeName(*dtype);
    bindings.tensors[argument] = &tensor;
  }
  return "";
}

std::pair<int64_t, int64_t> Problem::locate(const Sequence &sequence, int64_t b, int64_t kv) const {
  if (!blockTable)
    return {sequence.batchKv, sequence.firstKv + kv};
  auto page = static_cast<int64_t>(blockTable->get({b, kv / pageSize}));
  return {page, kv % pageSize};
}

namespace {
/// Reads the lengths of the sequences; every member returns an error message or nothing.
class SequenceReader {
public:
  SequenceReader(Problem &problem, const RegionBindings &bindings)
      : problem(problem), op(problem.op), bindings(bindings) {}

  std::string read() {
    std::string error = op.isVarlen() ? readVarlen() : readDense();
    if (!error.empty())
      return error;
    if (auto limit = op.getQueryLimit())
      for (const Sequence &sequence : problem.sequences)
        if (sequence.lenQ > *limit)
          return "a sequence has " + std::to_string(sequence.lenQ) +
                 " query tokens; max_q allows " + std::to_string(*limit);
    return problem.blockTable ? checkPages() : "";
  }

private:
  const HostTensor *tensor(Value value) const {
    return value ? bindings.tensors.lookup(value) : nullptr;
  }
  static int64_t at(const HostTensor &tensor, int64_t i) {
    return static_cast<int64_t>(tensor.get({i}));
  }

  std::string readDense() {
    int64_t batch = problem.q->shape[0];
    const HostTensor *lens = tensor(op.getKvLens());
    int64_t capacity =
        problem.blockTable ? problem.blockTable->shape[1] * problem.pageSize : problem.k->shape[2];
    if (!problem.blockTable && problem.k->shape[0] != batch)
      return "q has batch " + std::to_string(batch) + " but k has " +
             std::to_string(problem.k->shape[0]);
    if (problem.blockTable && problem.blockTable->shape[0] != batch)
      return "block_table has " + std::to_string(problem.blockTable->shape[0]) +
             " rows; expected one a sequence, " + std::to_string(batch);
    if (lens && lens->shape[0] != batch)
      return "kv_lens has " + std::to_string(lens->shape[0]) +
             " entries; expected one a sequence, " + std::to_string(batch);
    for (int64_t b = 0; b < batch; ++b) {
      Sequence sequence;
      sequence.lenQ = problem.q->shape[2];
      sequence.lenKv = lens ? at(*lens, b) : capacity;
      if (sequence.lenKv < 0 || sequence.lenKv > capacity)
        return "kv_lens[" + std::to_string(b) + "] is " + std::to_string(sequence.lenKv) +
               "; the keys given allow 0 to " + std::to_string(capacity);
      sequence.batchQ = sequence.batchKv = b;
      problem.sequences.push_back(sequence);
    }
    return "";
  }

  std::string readVarlen() {
    const HostTensor &cuQ = *tensor(op.getCuSeqlensQ()), &cuKv = *tensor(op.getCuSeqlensKv());
    if (cuQ.shape[0] != cuKv.shape[0] || cuQ.shape[0] < 1)
      return "cu_seqlens_q has " + std::to_string(cuQ.shape[0]) + " entries and cu_seqlens_kv " +
             std::to_string(cuKv.shape[0]) + "; both need one more than there are sequences";
    auto check = [](const char *name, const HostTensor &cu, int64_t b,
                    int64_t total) -> std::string {
      int64_t begin = at(cu, b), end = at(cu, b + 1);
      if (begin >= 0 && begin <= end && end <= total)
        return "";
      return std::string(name) + "[" + std::to_string(b) + "] is " + std::to_string(begin) +
             " and the next " + std::to_string(end) +
             "; offsets must rise from 0 on and end within the " + std::to_string(total) +
             " tokens given";
    };
    for (int64_t b = 0; b + 1 < cuQ.shape[0]; ++b) {
      std::string error = check("cu_seqlens_q", cuQ, b, problem.q->shape[2]);
      if (error.empty())
        error = check("cu_seqlens_kv", cuKv, b, problem.k->shape[2]);
      if (!error.empty())
        return error;
      Sequence sequence;
      sequence.firstQ = at(cuQ, b);
      sequence.lenQ = at(cuQ, b + 1) - sequence.firstQ;
      sequence.firstKv = at(cuKv, b);
      sequence.lenKv = at(cuKv, b + 1) - sequence.firstKv;
      problem.sequences.push_back(sequence);
    }
    return "";
  }

  std::string checkPages() {
    for (auto [b, sequence] : llvm::enumerate(problem.sequences))
      for (int64_t kv = 0; kv < sequence.lenKv; kv += problem.pageSize) {
        int64_t page = problem.locate(sequence, b, kv).first;
        if (page < 0 || page >= problem.k->shape[0])
          return "block_table[" + std::to_string(b) + ", " + std::to_string(kv / problem.pageSize) +
                 "] names page " + std::to_string(page) + "; there are " +
                 std::to_string(problem.k->shape[0]) + " pages";
      }
    return "";
  }

  Problem &problem;
  attn::AttentionOpInterface op;
  const RegionBindings &bindings;
};
} // namespace

std::string reference::makeProblem(attn::AttentionOpInterface op, attn::CombineOp combine,
                                   RegionBindings bindings, Problem &problem) {
  problem.op = op;
  auto tensor = [&](Value value) -> const HostTensor * {
    return value ? bindings.tensors.lookup(value) : nullptr;
  };
  problem.q = tensor(op.getQ());
  problem.k = tensor(op.getK());
  problem.v = tensor(op.getV());
  Value sinks = combine ? combine.getSinks() : op.getSinks();
  for (Value operand : {Value(op.getQ()), Value(op.getK()), Value(op.getV()), op.getKvLens(),
                        op.getCuSeqlensQ(), op.getCuSeqlensKv(), op.getBlockTable(), sinks})
    if (operand && !tensor(operand))
      return "an operand of the attention op is no argument of its function; the reference "
             "evaluates functions whose arguments feed the op";
  problem.blockTable = tensor(op.getBlockTable());
  problem.sinks = tensor(sinks);
  problem.pageSize = static_cast<int64_t>(op.getPageSize().value_or(0));
  auto output = dtypeOf(combine ? combine.getO().getType() : op.getO().getType());
  if (!output)
    return "the output's element type is not one the reference knows";
  problem.outputType = *output;
  if (problem.k->shape != problem.v->shape) {
    // Only the head dim may differ.
    std::vector<int64_t> k = problem.k->shape, v = problem.v->shape;
    k.back() = v.back();
    if (k != v)
      return "k has shape " + shapeText(problem.k->shape) + " and v " +
             shapeText(problem.v->shape) + "; they may differ in the head dim only";
  }
  std::string error = SequenceReader(problem, bindings).read();
  problem.bindings = std::move(bindings);
  return error;
}
