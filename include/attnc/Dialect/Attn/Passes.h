// Declares the passes inside the attn dialect (generated from Passes.td).
#ifndef ATTNC_DIALECT_ATTN_PASSES_H
#define ATTNC_DIALECT_ATTN_PASSES_H

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#include "attnc/Dialect/Attn/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attnc/Dialect/Attn/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_PASSES_H
