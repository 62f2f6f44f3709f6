// From the LLVM dialect to LLVM IR and PTX text. Assembling to cubin is the runtime's work.
#ifndef ATTNC_TARGET_PTX_H
#define ATTNC_TARGET_PTX_H

#include "attnc/Target/Target.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace attnc {

/// Translates a module in the LLVM and NVVM dialects and optimises it for the target; null, after a
/// diagnostic on the module, when that fails.
std::unique_ptr<llvm::Module> translateToLLVMIR(mlir::ModuleOp module, const TargetInfo &target,
                                                llvm::LLVMContext &context);

/// Compiles an optimised LLVM module to PTX text for the target.
mlir::FailureOr<std::string> emitPtx(llvm::Module &module, const TargetInfo &target,
                                     mlir::Location loc);

} // namespace attnc

#endif // ATTNC_TARGET_PTX_H
