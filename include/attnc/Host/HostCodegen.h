// Writes a module of tile kernels as LLVM IR, assembly or an object file for this machine's CPU.
// Running it in process is HostKernel.h's.
#ifndef ATTNC_HOST_HOSTCODEGEN_H
#define ATTNC_HOST_HOSTCODEGEN_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace attnc {

/// What emitHost writes. Optimised: what the JIT runs.
enum class HostOutput { LLVMIR, Assembly, Object };

/// Lowers the module (tile kernels after tile-split-kv-range and tile-expand-softmax; it is
/// consumed) and returns the text or the bytes. Each kernel NAME has one entry point of C linkage,
///
///     void attnc_host_NAME(void **args, int32_t program_id);
///
/// where args[i] points to kernel argument i: an i32, an f32, or the descriptor of a strided
/// memref {T *allocated, T *aligned, int64_t offset, sizes[rank], strides[rank]}. Programs of one
/// kernel may run in any order and at once. Fails with diagnostics on the module.
mlir::FailureOr<std::string> emitHost(mlir::ModuleOp module, HostOutput output);

} // namespace attnc

#endif // ATTNC_HOST_HOSTCODEGEN_H
