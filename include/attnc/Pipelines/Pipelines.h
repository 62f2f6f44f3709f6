// The order of passes: phases from attn IR to a program for one GPU or for the host. Each phase is a
// list of named steps, so that a driver can stop after any of them, and a pipeline of attn-opt.
// Nothing here runs passes (Compile.h) or knows files.
//
//   attn IR ──attn-to-tile──► tile kernels ──tile-gpu-schedule──► scheduled tiles ──tile-to-nvvm──► LLVM
//                                          └─tile-host-schedule─► HostProgram::compile
#ifndef ATTNC_PIPELINES_PIPELINES_H
#define ATTNC_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace attnc {

/// One pass of a phase. `pass` is its name on attn-opt's command line.
struct PipelineStep {
  std::string pass;
  std::function<void(mlir::OpPassManager &)> add;
};
using PipelineSteps = std::vector<PipelineStep>;

/// What the attn phase has to know.
struct AttnPhaseOptions {
  /// A name of the target table ("sm_90a", "host").
  std::string target = "sm_80";
  /// Configuration fields to force: "block_m=64,stages=3".
  std::string config;
};

/// Resolve the variant, derive KV bounds, choose a configuration, split KV, tile into kernels.
PipelineSteps attnPhase(const AttnPhaseOptions &options);
/// Stage loads in shared memory, split the KV range, expand the softmax, assign layouts.
PipelineSteps tileGpuPhase();
/// The part of tileGpuPhase that the host shares: no staging, no layouts.
PipelineSteps tileHostPhase();
/// Tiles to the program of one thread, then everything to the LLVM dialect.
PipelineSteps nvvmPhase();

/// Adds every step.
void addSteps(mlir::OpPassManager &manager, llvm::ArrayRef<PipelineStep> steps);

/// Registers every pass of attnc, and the phases as pipelines `attn-to-tile`, `tile-gpu-schedule`,
/// `tile-host-schedule` and `tile-to-nvvm`.
void registerPassesAndPipelines();

} // namespace attnc

#endif // ATTNC_PIPELINES_PIPELINES_H
