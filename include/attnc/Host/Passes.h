// Declares the host target's passes (generated from Passes.td) and its pipeline. Running the code is
// HostKernel.h's, writing it out HostCodegen.h's.
#ifndef ATTNC_HOST_PASSES_H
#define ATTNC_HOST_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace attnc {

#define GEN_PASS_DECL
#include "attnc/Host/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attnc/Host/Passes.h.inc"

/// How wide this machine's vectors are; the defaults suit AVX-512.
struct TileToHostLLVMOptions : mlir::PassPipelineOptions<TileToHostLLVMOptions> {
  Option<int64_t> lanes{*this, "lanes", llvm::cl::desc("f32 elements of a vector"),
                        llvm::cl::init(16)};
  Option<int64_t> rows{*this, "rows", llvm::cl::desc("rows of a product's register block"),
                       llvm::cl::init(8)};
  Option<int64_t> columns{*this, "columns",
                          llvm::cl::desc("vectors across of a product's register block"),
                          llvm::cl::init(2)};
};

/// tile kernels after split-kv-range and expand-softmax → linalg on tensors, fused.
void buildTileToLinalgPipeline(mlir::OpPassManager &manager);
/// … → loops of vectors on buffers.
void buildLinalgToVectorPipeline(mlir::OpPassManager &manager,
                                 const TileToHostLLVMOptions &options);
/// All of it, down to the LLVM dialect (`tile-to-host-llvm` of attn-opt).
void buildTileToHostLLVMPipeline(mlir::OpPassManager &manager,
                                 const TileToHostLLVMOptions &options);

/// Registers the passes and the pipeline.
void registerHostPipelines();

} // namespace attnc

#endif // ATTNC_HOST_PASSES_H
