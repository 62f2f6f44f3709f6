// Interface methods of the attn ops and their generated definitions. Verifiers are in
// AttnVerify.cpp, canonicalisations in AttnCanonicalize.cpp.
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

std::optional<int64_t> PrefillOp::getQueryLimit() { return std::nullopt; }
bool PrefillOp::isPartial() { return false; }
std::optional<int64_t> DecodeOp::getQueryLimit() { return static_cast<int64_t>(getMaxQ()); }
bool DecodeOp::isPartial() { return getPartial(); }

#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
