// The host target's pipeline: which passes run in which order.
#include "attnc/Conversion/Passes.h"
#include "attnc/Host/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attnc {

static void addCleanUp(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void buildTileToLinalgPipeline(OpPassManager &manager) {
  manager.addPass(createConvertTileToLinalg());
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(createHostFuseTiles());
  addCleanUp(manager);
  // Conversions of a tile that a loop only reads (Q) move out of it.
  manager.addPass(createLoopInvariantCodeMotionPass());
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(createHostReuseTiles());
}

void buildLinalgToVectorPipeline(OpPassManager &manager, const TileToHostLLVMOptions &options) {
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.allowReturnAllocsFromLoops = false;
  manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
  addCleanUp(manager);
  HostVectorizeOptions vectorize;
  vectorize.lanes = options.lanes;
  vectorize.rows = options.rows;
  vectorize.columns = options.columns;
  manager.addNestedPass<func::FuncOp>(createHostVectorize(vectorize));
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(createHostPlanBuffers());
  manager.addNestedPass<func::FuncOp>(createHostExpandMath());
}

void buildTileToHostLLVMPipeline(OpPassManager &manager, const TileToHostLLVMOptions &options) {
  buildTileToLinalgPipeline(manager);
  buildLinalgToVectorPipeline(manager, options);
  // bf16 conversions are expanded here: the C runtime of older systems has no function for them.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  addCleanUp(manager);
  manager.addPass(createSCFToControlFlowPass());
  // Before the vectors: functions of the C library are called element by element.
  manager.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  addCleanUp(manager);
}

void registerHostPipelines() {
  registerHostPasses();
  PassPipelineRegistration<TileToHostLLVMOptions>(
      "tile-to-host-llvm",
      "Lowers tile kernels (after tile-split-kv-range and tile-expand-softmax) to the LLVM dialect "
      "for this machine's CPU",
      [](OpPassManager &manager, const TileToHostLLVMOptions &options) {
        buildTileToHostLLVMPipeline(manager, options);
      });
}

} // namespace attnc
