// The LLVM module of a host program and the machine it is for; shared by the writer and the JIT.
#ifndef ATTNC_LIB_HOST_HOSTMODULE_H
#define ATTNC_LIB_HOST_HOSTMODULE_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace attnc {

struct HostModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// Prefix of the entry points; see HostCodegen.h for their signature.
inline constexpr llvm::StringLiteral kHostEntryPrefix = "attnc_host_";

/// This machine's CPU with all its features.
mlir::FailureOr<llvm::orc::JITTargetMachineBuilder> detectHost(mlir::ModuleOp module);

/// Lowers and optimises; the module is consumed. Fails with diagnostics on it.
mlir::FailureOr<HostModule> buildHostModule(mlir::ModuleOp module);

} // namespace attnc

#endif // ATTNC_LIB_HOST_HOSTMODULE_H
