// The attn dialect's types of C++: dialect, attributes, interface and ops. Rewrites are not here
// (see Passes.h), nor is the mask analysis (attnc/Analysis).
#ifndef ATTNC_DIALECT_ATTN_ATTNDIALECT_H
#define ATTNC_DIALECT_ATTN_ATTNDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>
#include <optional>

#include "attnc/Dialect/Attn/AttnDialect.h.inc"
#include "attnc/Dialect/Attn/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Attn/AttnAttrs.h.inc"

#include "attnc/Dialect/Attn/AttnInterfaces.h.inc"

#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.h.inc"

namespace mlir::attn {

/// Number of arguments of each region kind (see the dialect page):
/// mask (b, h, q, kv, len_q, len_kv); score (s, then those); bounds (b, h, q_first, q_last, len_q,
/// len_kv).
inline constexpr unsigned kMaskArgs = 6;
inline constexpr unsigned kScoreArgs = 7;
inline constexpr unsigned kBoundsArgs = 6;
/// Values yielded by a bounds region: lower, full_lower, full_upper, upper (keys, half-open
/// ranges).
inline constexpr unsigned kBoundsResults = 4;

/// What a list of named masks says once they are put together, as inclusive distances from the
/// query's bottom-right position p: p − left ≤ kv ≤ p + right, each bound only where present.
struct NamedMaskBounds {
  std::optional<int64_t> left, right;
  /// Also kv ≤ q (a top-left causal mask).
  bool topLeft = false;
};

/// Puts the named masks of an op together (AND). `masks` may be null: no bound.
NamedMaskBounds combineNamedMasks(ArrayAttr masks);

/// Creates the (empty) entry block of a region of the given kind, with its arguments.
Block *createMaskBlock(OpBuilder &builder, Region &region, Location loc);
Block *createScoreBlock(OpBuilder &builder, Region &region, Location loc);
Block *createBoundsBlock(OpBuilder &builder, Region &region, Location loc);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ATTNDIALECT_H
