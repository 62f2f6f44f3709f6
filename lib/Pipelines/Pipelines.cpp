// The phases, and their registration with attn-opt.
#include "attnc/Pipelines/Pipelines.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Tile/Passes.h"
#include "attnc/Host/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attnc {

static PipelineStep canonicalizeStep() {
  return {"canonicalize", [](OpPassManager &pm) { pm.addPass(createCanonicalizerPass()); }};
}

static PipelineStep cseStep() {
  return {"cse", [](OpPassManager &pm) { pm.addPass(createCSEPass()); }};
}

PipelineSteps attnPhase(const AttnPhaseOptions &options) {
  return {
      {"attn-resolve-variant",
       [](OpPassManager &pm) {
         pm.addNestedPass<func::FuncOp>(attn::createAttnResolveVariant());
       }},
      {"attn-derive-kv-bounds",
       [](OpPassManager &pm) {
         pm.addNestedPass<func::FuncOp>(attn::createAttnDeriveKvBounds());
       }},
      {"attn-choose-config",
       [options](OpPassManager &pm) {
         attn::AttnChooseConfigOptions passOptions;
         passOptions.target = options.target;
         passOptions.overrides = options.config;
         pm.addNestedPass<func::FuncOp>(attn::createAttnChooseConfig(passOptions));
       }},
      {"attn-split-kv",
       [](OpPassManager &pm) { pm.addNestedPass<func::FuncOp>(attn::createAttnSplitKv()); }},
      {"convert-attn-to-tile",
       [](OpPassManager &pm) { pm.addPass(createConvertAttnToTile()); }},
      canonicalizeStep(),
      cseStep(),
  };
}

/// The steps that turn kv_loops into plain loops; both targets need them.
static void appendLoopSteps(PipelineSteps &steps) {
  steps.push_back({"tile-split-kv-range", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTileSplitKvRange());
                   }});
  steps.push_back({"tile-expand-softmax", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTileExpandSoftmax());
                   }});
  steps.push_back(canonicalizeStep());
  steps.push_back(cseStep());
}

PipelineSteps tileGpuPhase() {
  PipelineSteps steps;
  steps.push_back({"tile-persist", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTilePersist());
                   }});
  steps.push_back({"tile-specialize-warps", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTileSpecializeWarps());
                   }});
  steps.push_back({"tile-overlap-products", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTileOverlapProducts());
                   }});
  steps.push_back(canonicalizeStep());
  steps.push_back({"tile-pipeline-loads", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTilePipelineLoads());
                   }});
  appendLoopSteps(steps);
  steps.push_back({"tile-assign-layouts", [](OpPassManager &pm) {
                     pm.addNestedPass<tile::KernelOp>(tile::createTileAssignLayouts());
                   }});
  return steps;
}

PipelineSteps tileHostPhase() {
  PipelineSteps steps;
  appendLoopSteps(steps);
  return steps;
}

PipelineSteps nvvmPhase() {
  return {
      {"convert-tile-to-nvvm",
       [](OpPassManager &pm) { pm.addPass(createConvertTileToNVVM()); }},
      canonicalizeStep(),
      cseStep(),
      {"convert-scf-to-cf", [](OpPassManager &pm) { pm.addPass(createSCFToControlFlowPass()); }},
      {"convert-math-to-llvm",
       [](OpPassManager &pm) { pm.addPass(createConvertMathToLLVMPass()); }},
      {"convert-arith-to-llvm",
       [](OpPassManager &pm) { pm.addPass(createArithToLLVMConversionPass()); }},
      {"convert-cf-to-llvm",
       [](OpPassManager &pm) { pm.addPass(createConvertControlFlowToLLVMPass()); }},
      {"reconcile-unrealized-casts",
       [](OpPassManager &pm) { pm.addPass(createReconcileUnrealizedCastsPass()); }},
  };
}

void addSteps(OpPassManager &manager, llvm::ArrayRef<PipelineStep> steps) {
  for (const PipelineStep &step : steps)
    step.add(manager);
}

namespace {
struct AttnToTileOptions : PassPipelineOptions<AttnToTileOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("target of the table, or host"),
                             llvm::cl::init("sm_80")};
  Option<std::string> config{*this, "config",
                             llvm::cl::desc("configuration fields to force: 'block_m=64,warps=4'")};
};
} // namespace

void registerPassesAndPipelines() {
  attn::registerAttnTransformsPasses();
  tile::registerTileTransformsPasses();
  registerConversionPasses();
  registerHostPipelines();
  PassPipelineRegistration<AttnToTileOptions>(
      "attn-to-tile", "attn ops to tile kernels for a target",
      [](OpPassManager &pm, const AttnToTileOptions &options) {
        addSteps(pm, attnPhase({options.target, options.config}));
      });
  PassPipelineRegistration<>("tile-gpu-schedule", "tile kernels to staged loops with layouts",
                             [](OpPassManager &pm) { addSteps(pm, tileGpuPhase()); });
  PassPipelineRegistration<>("tile-host-schedule", "tile kernels to plain loops for the host",
                             [](OpPassManager &pm) { addSteps(pm, tileHostPhase()); });
  PassPipelineRegistration<>("tile-to-nvvm", "scheduled tile kernels to the LLVM dialect",
                             [](OpPassManager &pm) { addSteps(pm, nvvmPhase()); });
}

} // namespace attnc
