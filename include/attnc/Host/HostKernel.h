// Compiles a module of tile kernels for this machine's CPU and runs it over a thread pool.
#ifndef ATTNC_HOST_HOSTKERNEL_H
#define ATTNC_HOST_HOSTKERNEL_H

#include "attnc/Support/HostTensor.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <memory>
#include <string>

namespace attnc {

/// Sizes by package symbol name: batch, heads_q, heads_kv, max_len_q, max_len_kv, splits, total_q, total_kv.
using ProblemSizes = std::map<std::string, int64_t>;

/// All kernels of one module, compiled and ready to run in process.
class HostProgram {
public:
  /// Compiles a module whose kernels are `tile.kernel` ops after split-kv-range and expand-softmax.
  /// The module is consumed (lowered in place). Fails with diagnostics on it.
  static mlir::FailureOr<std::unique_ptr<HostProgram>> compile(mlir::ModuleOp module);
  virtual ~HostProgram() = default;

  /// Runs every kernel in order. `tensors` by tile.name in logical dimension order (strides as they
  /// are); workspace tensors are allocated inside. `scalars` are the run-time arguments (arg.NAME).
  /// Lengths, offsets and page tables are checked against the tensors first. Returns an error message,
  /// empty on success.
  virtual std::string run(const ProblemSizes &sizes, std::map<std::string, HostTensor> &tensors,
                          const std::map<std::string, double> &scalars, unsigned threads) = 0;
};

} // namespace attnc

#endif // ATTNC_HOST_HOSTKERNEL_H
