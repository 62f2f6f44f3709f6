// Declares the passes between dialects (generated from Passes.td).
#ifndef ATTNC_CONVERSION_PASSES_H
#define ATTNC_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace attnc {

#define GEN_PASS_DECL
#include "attnc/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attnc/Conversion/Passes.h.inc"

} // namespace attnc

#endif // ATTNC_CONVERSION_PASSES_H
