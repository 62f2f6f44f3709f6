// Finds what a function computes, binds its data and evaluates it.
#include "attnc/Reference/Reference.h"

#include "Attention.h"
#include "Combine.h"
#include "Problem.h"
#include "attnc/Dialect/Attn/Transforms.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::reference;

std::string attnc::evaluateReference(func::FuncOp function, const Tensors &tensors,
                                     const Scalars &scalars, unsigned threads,
                                     ReferenceResult &result) {
  // Sugar is resolved on a copy: the caller's function stays as it is.
  OwningOpRef<func::FuncOp> copy = function.clone();
  attn::AttentionOpInterface attention;
  attn::CombineOp combine;
  unsigned count = 0;
  copy->walk([&](Operation *op) {
    if (auto found = dyn_cast<attn::AttentionOpInterface>(op)) {
      attention = found;
      ++count;
    }
    if (auto found = dyn_cast<attn::CombineOp>(op))
      combine = found;
  });
  if (count > 1)
    return "@" + function.getName().str() + " has " + std::to_string(count) +
           " attention ops; the reference evaluates one";
  if (!attention && !combine)
    return "@" + function.getName().str() + " has no attention op";

  RegionBindings bindings;
  std::string error = bindArguments(*copy, tensors, scalars, bindings);
  if (!error.empty())
    return error;
  if (attention) {
    attn::resolveVariant(attention);
    Problem problem;
    error = makeProblem(attention, combine, std::move(bindings), problem);
    return error.empty() ? evaluateAttention(problem, threads, result) : error;
  }

  const HostTensor *oParts = bindings.tensors.lookup(combine.getOParts());
  const HostTensor *lseParts = bindings.tensors.lookup(combine.getLseParts());
  Value sinkOperand = combine.getSinks();
  const HostTensor *sinks = sinkOperand ? bindings.tensors.lookup(sinkOperand) : nullptr;
  auto outputType = dtypeOf(combine.getO().getType());
  if (!oParts || !lseParts || (sinkOperand && !sinks) || !outputType)
    return "attn.combine's operands are no arguments of its function, or its type is unknown";
  return evaluateCombine(*oParts, *lseParts, sinks, *outputType, result);
}
