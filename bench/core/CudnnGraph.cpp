// Building the graph, choosing an engine, running the plan.
#include "CudnnGraph.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attnc::bench::cudnn {

Descriptors::~Descriptors() {
  for (auto d = owned.rbegin(); d != owned.rend(); ++d)
    api.destroyDescriptor(*d);
}

void Descriptors::fail(const Status &status) {
  if (first.ok())
    first = status;
}

Descriptor Descriptors::make(int type, const char *what) {
  if (!first.ok())
    return nullptr;
  Descriptor d = nullptr;
  if (const int code = api.createDescriptor(type, &d)) {
    fail(failure(api, what, code));
    return nullptr;
  }
  owned.push_back(d);
  return d;
}

void Descriptors::set(Descriptor d, int attribute, int type, std::int64_t count, const void *values,
                      const char *what) {
  if (!first.ok())
    return;
  if (const int code = api.setAttribute(d, attribute, type, count, values))
    fail(failure(api, fmt::format("{}, attribute {}", what, attribute).c_str(), code));
}

void Descriptors::setDescriptor(Descriptor d, int attribute, Descriptor value, const char *what) {
  set(d, attribute, typeDescriptor, 1, &value, what);
}

void Descriptors::finalize(Descriptor d, const char *what) {
  if (!first.ok())
    return;
  if (const int code = api.finalize(d))
    fail(failure(api, what, code));
}

namespace {

using Dims = std::array<std::int64_t, 4>;

Dims rowMajor(const Dims &d) { return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}; }

// Unique ids of the tensors that a run binds; the virtual ones count on from there.
enum Uid : std::int64_t { uidQ = 1, uidK, uidV, uidO, uidScale, uidLowest, uidVirtual };

/// Writes operations one after another.
class GraphWriter {
public:
  explicit GraphWriter(Descriptors &d) : d(d) {}

  Descriptor tensor(std::int64_t uid, int type, const Dims &dims, const Dims &strides,
                    bool isVirtual, bool byValue, const char *what) {
    const Descriptor t = d.make(tensorDescriptor, what);
    const std::int64_t alignment = byValue ? 4 : 16;
    d.set(t, tensorUniqueId, typeInt64, 1, &uid, what);
    d.set(t, tensorDataType, typeDataType, 1, &type, what);
    d.set(t, tensorByteAlignment, typeInt64, 1, &alignment, what);
    d.set(t, tensorDimensions, typeInt64, 4, dims.data(), what);
    d.set(t, tensorStrides, typeInt64, 4, strides.data(), what);
    if (isVirtual)
      d.set(t, tensorIsVirtual, typeBoolean, 1, &isVirtual, what);
    if (byValue)
      d.set(t, tensorIsByValue, typeBoolean, 1, &byValue, what);
    d.finalize(t, what);
    return t;
  }

  Descriptor temporary(int type, const Dims &dims, const char *what) {
    return tensor(nextUid++, type, dims, rowMajor(dims), true, false, what);
  }

  void matmul(Descriptor a, Descriptor b, Descriptor c, const char *what) {
    const Descriptor m = d.make(matmulDescriptor, what);
    const int compute = dataFloat;
    d.set(m, matmulCompType, typeDataType, 1, &compute, what);
    d.finalize(m, what);
    const Descriptor op = d.make(operationMatmul, what);
    d.setDescriptor(op, opMatmulA, a, what);
    d.setDescriptor(op, opMatmulB, b, what);
    d.setDescriptor(op, opMatmulC, c, what);
    d.setDescriptor(op, opMatmulDescriptor, m, what);
    d.finalize(op, what);
    ops.push_back(op);
  }

  /// b and t may be null; \p axis is for GenIndex.
  void pointwise(int mode, int precision, Descriptor x, Descriptor b, Descriptor t, Descriptor y,
                 const char *what, std::int64_t axis = -1) {
    const Descriptor p = d.make(pointwiseDescriptor, what);
    d.set(p, pointwiseMode, typePointwiseMode, 1, &mode, what);
    d.set(p, pointwiseMathPrec, typeDataType, 1, &precision, what);
    if (axis >= 0)
      d.set(p, pointwiseAxis, typeInt64, 1, &axis, what);
    d.finalize(p, what);
    const Descriptor op = d.make(operationPointwise, what);
    d.setDescriptor(op, opPointwiseDescriptor, p, what);
    d.setDescriptor(op, opPointwiseX, x, what);
    if (b)
      d.setDescriptor(op, opPointwiseB, b, what);
    if (t)
      d.setDescriptor(op, opPointwiseT, t, what);
    d.setDescriptor(op, opPointwiseY, y, what);
    d.finalize(op, what);
    ops.push_back(op);
  }

  void reduction(int kind, Descriptor x, Descriptor y, const char *what) {
    const Descriptor r = d.make(reductionDescriptor, what);
    const int compute = dataFloat;
    d.set(r, reductionOperator, typeReductionOperator, 1, &kind, what);
    d.set(r, reductionCompType, typeDataType, 1, &compute, what);
    d.finalize(r, what);
    const Descriptor op = d.make(operationReduction, what);
    d.setDescriptor(op, opReductionX, x, what);
    d.setDescriptor(op, opReductionY, y, what);
    d.setDescriptor(op, opReductionDescriptor, r, what);
    d.finalize(op, what);
    ops.push_back(op);
  }

  std::vector<Descriptor> ops;

private:
  Descriptors &d;
  std::int64_t nextUid = uidVirtual;
};

} // namespace

Descriptor SdpaPlan::describe(const Config &c) {
  GraphWriter g(descriptors);
  const int io = c.dtype == "bf16" ? dataBf16 : dataHalf;
  const std::int64_t lenQ = c.lenQ(), d = c.headDim;
  const Dims qDims = {c.batch, c.hq, lenQ, d}, kvDims = {c.batch, c.hkv, c.n, d};
  const Dims sDims = {c.batch, c.hq, lenQ, c.n}, rowDims = {c.batch, c.hq, lenQ, 1};
  const Dims one = {1, 1, 1, 1};
  const Descriptor q = g.tensor(uidQ, io, qDims, rowMajor(qDims), false, false, "Q");
  // The product wants K transposed, which is a matter of strides.
  const Descriptor k = g.tensor(uidK, io, {c.batch, c.hkv, d, c.n},
                                {c.hkv * c.n * d, c.n * d, 1, d}, false, false, "K");
  const Descriptor v = g.tensor(uidV, io, kvDims, rowMajor(kvDims), false, false, "V");
  const Descriptor o = g.tensor(uidO, io, qDims, rowMajor(qDims), false, false, "O");
  const Descriptor factor = g.tensor(uidScale, dataFloat, one, one, false, true, "scale");

  const Descriptor raw = g.temporary(dataFloat, sDims, "S");
  g.matmul(q, k, raw, "Q K^T");
  Descriptor s = g.temporary(dataFloat, sDims, "scaled S");
  g.pointwise(pointwiseMul, dataFloat, raw, factor, nullptr, s, "scale");
  if (causal) {
    const Descriptor low = g.tensor(uidLowest, dataFloat, one, one, false, true, "lowest");
    const Descriptor row = g.temporary(dataInt32, sDims, "row index");
    const Descriptor column = g.temporary(dataInt32, sDims, "column index");
    const Descriptor seen = g.temporary(dataBool, sDims, "mask");
    const Descriptor masked = g.temporary(dataFloat, sDims, "masked S");
    g.pointwise(pointwiseGenIndex, dataInt32, s, nullptr, nullptr, row, "row index", 2);
    g.pointwise(pointwiseGenIndex, dataInt32, s, nullptr, nullptr, column, "column index", 3);
    g.pointwise(pointwiseCmpGe, dataBool, row, column, nullptr, seen, "row >= column");
    g.pointwise(pointwiseBinarySelect, dataFloat, s, low, seen, masked, "select");
    s = masked;
  }
  const Descriptor top = g.temporary(dataFloat, rowDims, "max");
  g.reduction(reduceMax, s, top, "max");
  const Descriptor shifted = g.temporary(dataFloat, sDims, "S - max");
  g.pointwise(pointwiseSub, dataFloat, s, top, nullptr, shifted, "subtract");
  const Descriptor e = g.temporary(dataFloat, sDims, "exp");
  g.pointwise(pointwiseExp, dataFloat, shifted, nullptr, nullptr, e, "exp");
  const Descriptor sum = g.temporary(dataFloat, rowDims, "sum");
  g.reduction(reduceAdd, e, sum, "sum");
  const Descriptor p = g.temporary(io, sDims, "P");
  g.pointwise(pointwiseDiv, dataFloat, e, sum, nullptr, p, "divide");
  g.matmul(p, v, o, "P V");

  const Descriptor graph = descriptors.make(operationGraph, "graph");
  if (handle) // Without one the graph is still checked; the tests have no GPU to make one.
    descriptors.set(graph, graphHandle, typeHandle, 1, &handle, "graph");
  descriptors.set(graph, graphOps, typeDescriptor, std::int64_t(g.ops.size()), g.ops.data(),
                  "graph");
  descriptors.finalize(graph, "graph");
  return graph;
}

bool SdpaPlan::choose(Descriptor graph) {
  Status last(StatusCode::Unsupported, "cuDNN's heuristics offered no engine");
  for (int mode : {int(heurModeA), int(heurModeFallback)}) {
    // Each attempt in a scope of its own: a failed one must not spoil the next.
    Descriptors scope(api);
    const Descriptor heuristics = scope.make(engineHeurDescriptor, "heuristics");
    scope.setDescriptor(heuristics, heurOperationGraph, graph, "heuristics");
    scope.set(heuristics, heurMode, typeHeurMode, 1, &mode, "heuristics");
    scope.finalize(heuristics, "heuristics");
    std::int64_t count = 0;
    if (!scope.status().ok()) {
      last = scope.status();
      continue;
    }
    if (const int code =
            api.getAttribute(heuristics, heurResults, typeDescriptor, 0, &count, nullptr)) {
      last = failure(api, "counting engines", code);
      continue;
    }
    offered += count;
    std::vector<Descriptor> configs;
    for (std::int64_t i = 0; i < count; ++i)
      configs.push_back(descriptors.make(engineCfgDescriptor, "engine configuration"));
    if (count == 0 || !descriptors.status().ok())
      continue;
    if (const int code = api.getAttribute(heuristics, heurResults, typeDescriptor, count, &count,
                                          configs.data())) {
      last = failure(api, "reading engines", code);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      Descriptor candidate = nullptr;
      if (api.createDescriptor(executionPlanDescriptor, &candidate))
        continue;
      int code = api.setAttribute(candidate, planHandle, typeHandle, 1, &handle);
      if (!code)
        code = api.setAttribute(candidate, planEngineConfig, typeDescriptor, 1, &configs[i]);
      if (!code)
        code = api.finalize(candidate);
      if (code) {
        last = failure(api, "building a plan", code);
        api.destroyDescriptor(candidate);
        continue;
      }
      plan = candidate;
      std::int64_t got = 0;
      api.getAttribute(plan, planWorkspaceSize, typeInt64, 1, &got, &workspace);
      Descriptor engine = descriptors.make(engineDescriptor, "engine");
      if (engine &&
          !api.getAttribute(configs[i], engineCfgEngine, typeDescriptor, 1, &got, &engine))
        api.getAttribute(engine, engineGlobalIndex, typeInt64, 1, &got, &engineIndex);
      return true;
    }
  }
  descriptors.fail(last);
  return false;
}

Result<std::unique_ptr<SdpaPlan>> SdpaPlan::create(const Api &api, Handle handle,
                                                   const Config &config) {
  std::unique_ptr<SdpaPlan> out(new SdpaPlan(api, handle));
  out->causal = config.causal && !config.decode();
  out->scale = 1 / std::sqrt(float(config.headDim));
  out->lowest = std::numeric_limits<float>::lowest();
  const Descriptor graph = out->describe(config);
  if (!out->descriptors.status().ok())
    return out->descriptors.status();
  if (!out->choose(graph))
    return out->descriptors.status();
  return out;
}

Status SdpaPlan::run(const Tensors &t) {
  Descriptors scope(api);
  const Descriptor pack = scope.make(variantPack, "variant pack");
  std::array<std::int64_t, 6> uids = {uidQ, uidK, uidV, uidO, uidScale, uidLowest};
  std::array<const void *, 6> pointers = {reinterpret_cast<const void *>(t.q),
                                          reinterpret_cast<const void *>(t.k),
                                          reinterpret_cast<const void *>(t.v),
                                          reinterpret_cast<const void *>(t.o),
                                          &scale,
                                          &lowest};
  const std::int64_t count = causal ? 6 : 5;
  const void *space = reinterpret_cast<const void *>(t.workspace);
  scope.set(pack, packUniqueIds, typeInt64, count, uids.data(), "variant pack");
  scope.set(pack, packDataPointers, typeVoidPtr, count, pointers.data(), "variant pack");
  scope.set(pack, packWorkspace, typeVoidPtr, 1, &space, "variant pack");
  scope.finalize(pack, "variant pack");
  if (!scope.status().ok())
    return scope.status();
  if (const int code = api.execute(handle, plan, pack))
    return failure(api, "execute", code);
  return {};
}

} // namespace attnc::bench::cudnn
