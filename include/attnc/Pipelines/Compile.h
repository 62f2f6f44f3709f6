// Compiles one module of attn IR for one target, in process, to any level. Not a driver: no files, no
// messages of its own beside diagnostics.
//
//   CompileOptions options;
//   options.target = lookupTarget("sm_90a");
//   FailureOr<CompileResult> result = compileModule(*module, options);   // result->ptx
#ifndef ATTNC_PIPELINES_COMPILE_H
#define ATTNC_PIPELINES_COMPILE_H

#include "attnc/Host/HostKernel.h"
#include "attnc/Pipelines/KernelInterface.h"
#include "attnc/Target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attnc {

/// How far to compile. Attn is the spec's own IR, before any pass; Tile the kernels of one CTA before
/// they are scheduled. A GPU target goes to Ptx, the host to Program.
enum class CompileLevel { Attn, Tile, Nvvm, Llvm, Ptx, Program };

struct CompileOptions {
  const TargetInfo *target = nullptr;
  /// Configuration fields to force, as attn-choose-config takes them.
  std::string config;
  CompileLevel level = CompileLevel::Ptx;
  /// Stop after the first step of this name on the way to the level; the module is then the result.
  /// Empty: do not.
  std::string stopAfter;
  /// Receives the module's text after every pass that changed it, with a name that sorts in the order
  /// of the passes: "07-tile-assign-layouts". May be empty.
  std::function<void(const std::string &name, llvm::StringRef text)> afterPass;
  /// Collect remarks about choices.
  bool remarks = false;
  /// Receives a nested scope for every step; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called before passes run, with IR and pipeline that `attn-opt --run-reproducer` takes: what a
  /// crash handler has to print. May be empty.
  std::function<void(std::string)> beforePasses;
};

/// A choice and its reason: kind is "passed", "missed", "failed" or "analysis".
struct CompileRemark {
  std::string kind, name, message;
};

struct CompileResult {
  /// The module at the level or step where compiling stopped.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Filled from CompileLevel::Tile on.
  ProgramInterface program;
  /// The #attn.config in force, field by field; from CompileLevel::Tile on.
  std::vector<std::pair<std::string, int64_t>> config;
  /// Text of the optimised LLVM IR (Llvm only) and of the PTX (Ptx).
  std::string llvmIR, ptx;
  /// The compiled program (Program only).
  std::unique_ptr<HostProgram> host;
  std::vector<CompileRemark> remarks;
};

/// Why compiling failed, for exit codes. Unsupported: a valid module that this target cannot run.
/// Internal: a pass left IR that does not verify, which is a bug of attnc.
enum class CompileFailure { None, Unsupported, Failed, Internal };

/// Compiles a clone of `module`. On failure diagnostics have been emitted on the module's context
/// and `failureKind` says which kind of failure it was.
mlir::FailureOr<CompileResult> compileModule(mlir::ModuleOp module, const CompileOptions &options,
                                             CompileFailure &failureKind);

/// Names that `stopAfter` takes for this target, in order.
std::vector<std::string> stepNames(const TargetInfo &target);

/// Registers and loads the dialects the compiler works with (not all of MLIR's).
void loadCompilerDialects(mlir::MLIRContext &context);

} // namespace attnc

#endif // ATTNC_PIPELINES_COMPILE_H
