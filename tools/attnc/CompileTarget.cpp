// Compiling and assembling one target.
#include "CompileTarget.h"

#include "CrashReport.h"
#include "Messages.h"

#include "attnc/Pipelines/Pipelines.h"
#include "attnc/Support/ExitCodes.h"
#include "llvm/ADT/STLExtras.h"

namespace attnc::cli {

int compileTarget(Input &input, const CompileOptions &options, TargetResult &result) {
  CompileOptions withReport = options;
  withReport.beforePasses = [](std::string text) { setReproducer(std::move(text)); };
  CompileFailure failure = CompileFailure::None;
  mlir::FailureOr<CompileResult> compiled = compileModule(*input.module, withReport, failure);
  if (failure == CompileFailure::Internal)
    return reportInternalError("a pass left invalid IR for " + options.target->name.str());
  setReproducer("");
  if (mlir::succeeded(compiled)) {
    result.compiled = std::move(*compiled);
    return kExitOk;
  }
  error("'" + input.spec.name + "' was not compiled for " + options.target->name);
  return failure == CompileFailure::Unsupported ? kExitUnsupported : kExitCompileFailed;
}

std::string lastTilePass(const TargetInfo &target) {
  std::vector<std::string> names = stepNames(target);
  return *llvm::find_if(llvm::reverse(names),
                        [](llvm::StringRef name) { return name.starts_with("tile-"); });
}

int emitHostCode(HostOutput output, TargetResult &result) {
  mlir::ModuleOp module = *result.compiled.module;
  const TargetInfo &host = *lookupTarget("host");
  PipelineSteps steps = tileHostPhase();
  auto last = llvm::find_if(
      steps, [&](const PipelineStep &step) { return step.pass == lastTilePass(host); });
  mlir::PassManager manager(module.getContext(), mlir::ModuleOp::getOperationName());
  addSteps(manager, llvm::ArrayRef(steps).drop_front(last + 1 - steps.begin()));
  if (mlir::failed(manager.run(module)))
    return kExitCompileFailed;
  mlir::FailureOr<std::string> code = emitHost(module, output);
  if (mlir::failed(code))
    return kExitCompileFailed;
  result.hostCode = std::move(*code);
  return kExitOk;
}

bool hasOfflineAssembler() {
  static const bool found = [] {
    for (const rt::AssemblerInfo &info : rt::availableAssemblers())
      if (info.kind == rt::Assembler::NvJitLink || info.kind == rt::Assembler::Ptxas)
        return true;
    return false;
  }();
  return found;
}

int assembleTarget(const Input &input, const TargetInfo &target, TargetResult &result) {
  rt::AssembleOptions options;
  options.name = input.spec.name;
  rt::Result<rt::AssembleResult> assembled =
      rt::assemble(result.compiled.ptx, target.name.str(), options);
  if (!assembled.ok())
    return report(assembled.status());
  for (const std::string &warning : assembled->warnings)
    note(target.name + ": " + warning);
  result.assembled = std::move(*assembled);
  return kExitOk;
}

} // namespace attnc::cli
