// One spec for one target, with the exit code and the extras that every verb wants: crash report,
// assembling. Choosing targets and writing files is the verbs'.
#ifndef ATTNC_TOOLS_COMPILETARGET_H
#define ATTNC_TOOLS_COMPILETARGET_H

#include "Input.h"

#include "attnc/Host/HostCodegen.h"
#include "attnc/Pipelines/Compile.h"
#include "attnc/Runtime/Assemble.h"
#include "attnc/Runtime/TuningStore.h"

#include <optional>
#include <string>

namespace attnc::cli {

/// What one target gave.
struct TargetResult {
  CompileResult compiled;
  std::optional<rt::AssembleResult> assembled;
  /// What the tuning store had for this problem and target; see compileTuned.
  std::optional<rt::TunedConfig> tuned;
  /// Of the host: LLVM IR or an object file; see emitHostCode.
  std::string hostCode;
};

/// Compiles; errors are printed. \returns an exit code: 3 when the target cannot run the spec, 1 when
/// compiling failed, 70 when a lowering left invalid IR.
int compileTarget(Input &input, const CompileOptions &options, TargetResult &result);

/// The pass that ends the schedule of tile kernels: what follows lowers what is decided by then.
std::string lastTilePass(const TargetInfo &target);

/// Makes `result.hostCode` from `result.compiled.module`, which stopped after lastTilePass and is
/// consumed: the same code that attnc run makes. \returns an exit code.
int emitHostCode(HostOutput output, TargetResult &result);

/// Whether PTX can be assembled here without a GPU.
bool hasOfflineAssembler();

/// Assembles `result.compiled.ptx`. The assembler's warnings are printed. \returns an exit code.
int assembleTarget(const Input &input, const TargetInfo &target, TargetResult &result);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_COMPILETARGET_H
