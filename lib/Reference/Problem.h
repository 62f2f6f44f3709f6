// An attention problem with its data: which tensor is which, and where each sequence lies. Checks
// what the caller gave, so that the evaluation cannot read outside a tensor.
#ifndef ATTNC_LIB_REFERENCE_PROBLEM_H
#define ATTNC_LIB_REFERENCE_PROBLEM_H

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Reference/RegionInterpreter.h"
#include "attnc/Support/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc::reference {

/// One sequence of the batch.
struct Sequence {
  int64_t lenQ = 0, lenKv = 0;
  /// Batch index into q, o, lse and into k, v (0 when varlen), and first row there.
  int64_t batchQ = 0, batchKv = 0, firstQ = 0, firstKv = 0;
};

struct Problem {
  mlir::attn::AttentionOpInterface op;
  const HostTensor *q = nullptr, *k = nullptr, *v = nullptr, *blockTable = nullptr;
  /// One logit a query head, or null. Of the attn.combine where there is one.
  const HostTensor *sinks = nullptr;
  int64_t pageSize = 0;
  DType outputType = DType::F32;
  std::vector<Sequence> sequences;
  RegionBindings bindings;

  /// Position of key `kv` of a sequence in k or v: batch (or page) and row.
  std::pair<int64_t, int64_t> locate(const Sequence &sequence, int64_t b, int64_t kv) const;
};

using Tensors = std::map<std::string, HostTensor>;
using Scalars = std::map<std::string, double>;

/// Element type of a tensor type, or nothing if we have none such.
std::optional<DType> dtypeOf(mlir::Type type);

/// Binds the function's arguments by attn.name. Returns an error message, empty on success.
std::string bindArguments(mlir::func::FuncOp function, const Tensors &tensors,
                          const Scalars &scalars, RegionBindings &bindings);

/// Fills a problem from an attention op whose function's arguments are bound. `combine`, if not
/// null, is the op that merges its partial results.
std::string makeProblem(mlir::attn::AttentionOpInterface op, mlir::attn::CombineOp combine,
                        RegionBindings bindings, Problem &problem);

} // namespace attnc::reference

#endif // ATTNC_LIB_REFERENCE_PROBLEM_H
