// Verifiers, canonicalisations and interface methods of the attn ops.
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

std::optional<int64_t> PrefillOp::getQueryLimit() { return std::nullopt; }
bool PrefillOp::isPartial() { return false; }
std::optional<int64_t> DecodeOp::getQueryLimit() { return static_cast<int64_t>(getMaxQ()); }
bool DecodeOp::isPartial() { return getPartial(); }

LogicalResult PrefillOp::verify() { return success(); }
LogicalResult DecodeOp::verify() { return success(); }
LogicalResult CombineOp::verify() { return success(); }
LogicalResult LookupOp::verify() { return success(); }

void PrefillOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void DecodeOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}

#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
