// Compiling and assembling one target.
#include "CompileTarget.h"

#include "CrashReport.h"
#include "Messages.h"

#include "attnc/Support/ExitCodes.h"

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
