// The tensors and scalars of one concrete problem, in logical dimension order, by the names that
// kernels bind: generated here, or read from a file (ProblemFiles.h).
#ifndef ATTNC_TOOLS_PROBLEMDATA_H
#define ATTNC_TOOLS_PROBLEMDATA_H

#include "ProblemShape.h"

#include "attnc/Support/HostTensor.h"

#include <map>
#include <string>
#include <vector>

namespace attnc::cli {

/// What the values look like. Random: standard normal. Outliers: every 16th key row is 50 times
/// larger. OneHot: the queries of the first KV head are 8 times some key, so that their softmax is
/// nearly one-hot. Extreme: magnitudes over the whole range of f16, subnormals included.
enum class DataKind { Random, Outliers, OneHot, Extreme };

struct Problem {
  ProblemShape shape;
  /// q, k, v, kv_lens, cu_seqlens_q, cu_seqlens_kv, block_table, sinks, bias, arg.NAME.
  std::map<std::string, HostTensor> inputs;
  /// arg.NAME.
  std::map<std::string, double> scalars;
  /// Scalars nobody gave a value for, as "arg.cap = 30".
  std::vector<std::string> chosenScalars;
};

/// Logical shape of q, k, v, o or lse in this problem.
std::vector<int64_t> tensorShape(const Spec &spec, const ProblemShape &shape,
                                 const std::string &name);

/// A zero tensor of that logical shape, in the spec's memory order for q, k, v and o.
HostTensor makeTensor(const Spec &spec, const std::string &name, DType dtype,
                      std::vector<int64_t> shape);

/// Fills `problem.inputs` and scalars. `args` are values for scalar arguments ("cap" → 30). Keys past a
/// sequence's length and pages nobody names are NaN.
void generateData(const Spec &spec, DataKind kind, uint64_t seed,
                  const std::map<std::string, double> &args, Problem &problem);

/// Gives scalars without a value one that makes sense, and says so in `chosenScalars`.
void chooseScalars(const Spec &spec, const std::map<std::string, double> &args, Problem &problem);

/// An output full of 0xff bytes (NaN in every float type) between two guard zones.
HostTensor makePoisonedOutput(const Spec &spec, const ProblemShape &shape, const std::string &name);
/// Whether both guard zones are as they were.
bool guardsIntact(const HostTensor &output);
/// Of an output: elements of rows that still have the poison's bits, and elements of the `tail` last
/// tokens, which no sequence owns, that have them no more.
struct Unwritten {
  int64_t rows = 0, tailWritten = 0;
};
Unwritten countUnwritten(const HostTensor &output, int64_t tail);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_PROBLEMDATA_H
