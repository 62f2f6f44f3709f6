// Rewrites of attn ops as plain functions: what the passes of Passes.td are shells around, for
// callers (reference, pipelines, tests) that hold one op and want no pass manager.
#ifndef ATTNC_DIALECT_ATTN_TRANSFORMS_H
#define ATTNC_DIALECT_ATTN_TRANSFORMS_H

#include "attnc/Dialect/Attn/AttnDialect.h"

namespace mlir::attn {

/// Turns the op's named masks and scores into its mask and score regions and removes the
/// attributes. Returns whether anything changed; an op without sugar is left as it is.
bool resolveVariant(AttentionOpInterface op);

/// Fills the op's bounds region from its mask region (see attn-derive-kv-bounds). The op must have
/// no named masks left. A bounds region that is there already is kept. Returns whether anything
/// changed; adds to `numOpaque`, if given, the mask's conditions that bound nothing.
bool deriveKvBounds(AttentionOpInterface op, unsigned *numOpaque = nullptr);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_TRANSFORMS_H
