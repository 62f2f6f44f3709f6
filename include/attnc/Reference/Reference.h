// The definition of right: an attention op evaluated in fp64, and the plain same-dtype
// implementation whose error the tolerance rule is measured against. Slow and simple on purpose.
#ifndef ATTNC_REFERENCE_REFERENCE_H
#define ATTNC_REFERENCE_REFERENCE_H

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Support/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <string>

namespace attnc {

/// Results of the reference: fp64 o and lse (natural log), and o and lse of the plain
/// implementation (f32 logits and softmax, P rounded to the KV dtype, o rounded to its dtype). All
/// contiguous, in logical order. Rows that belong to no sequence (past the last cu_seqlens_q) are
/// NaN.
struct ReferenceResult {
  HostTensor o, lse, plainO, plainLse;
};

/// Evaluates the function's attention op: prefill, decode (a `partial` one as a whole, with the
/// sinks and output type of the combine that merges it), or a combine alone, whose operands are
/// then the function's arguments; sugar or regions. `tensors` and `scalars` are by attn.name, and
/// are checked against the function's types and against each other, so that hostile lengths or page
/// numbers are an error and not a wild read. Multi-threaded over (batch, head). Returns an error
/// message, empty on success.
std::string evaluateReference(mlir::func::FuncOp function,
                              const std::map<std::string, HostTensor> &tensors,
                              const std::map<std::string, double> &scalars, unsigned threads,
                              ReferenceResult &result);

/// How an output compares with the reference.
struct Comparison {
  double maxAbs = 0, maxRel = 0, minCosine = 1;
  /// ‖out − ref‖ / ‖plain − ref‖ over the tensor, by largest absolute error.
  double errorRatio = 0;
  /// Elements out of tolerance; non-finite ones where the reference is finite; and ones whose
  /// reference is NaN (rows of no sequence), which are not judged.
  int64_t mismatches = 0, nonFinite = 0, notCompared = 0;
  bool ok = false;
  std::string message;
};

/// Units in the last place that an LSE may be off by beyond twice the plain implementation's error:
/// the accumulators of matrix units truncate, the plain implementation's f32 sums round (measured on
/// an H200: up to 7.4e-7 relative at an LSE of 216, where eight units are 9.5e-7).
inline constexpr double kLseUnits = 8;

/// Tolerance rule of the semantics contract: largest absolute error at most twice the plain
/// implementation's, plus one unit in the last place of the output type at the row's magnitude (for
/// an LSE, kLseUnits at its own or 1); infinities and zeros of empty rows exactly. Rank 4 is taken for an
/// output [B, H, S, D], rank 3 for an LSE [B, H, S].
Comparison compareWithReference(const HostTensor &out, const HostTensor &reference,
                                const HostTensor &plain);

} // namespace attnc

#endif // ATTNC_REFERENCE_REFERENCE_H
