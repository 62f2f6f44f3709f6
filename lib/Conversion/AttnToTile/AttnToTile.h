// Internal interface between the files of convert-attn-to-tile: the problem of one kernel, the
// work of one CTA, and the steps that write the kernel.
#ifndef ATTNC_LIB_CONVERSION_ATTNTOTILE_ATTNTOTILE_H
#define ATTNC_LIB_CONVERSION_ATTNTOTILE_ATTNTOTILE_H

#include "KernelSignature.h"
#include "RegionInliner.h"
#include "attnc/Dialect/Attn/AttnDialect.h"

namespace attnc {

/// An attention op and the kernel being made of it. Tensors are kernel arguments; null if absent.
struct AttentionProblem {
  mlir::attn::AttentionOpInterface op;
  mlir::IRMapping captures;
  mlir::Value q, k, v, o, lse;
  mlir::Value kvLens, cuSeqlensQ, cuSeqlensKv, blockTable, sinks;
  mlir::Value batch, maxLenQ, maxLenKv, splits;

  /// Rows and keys of a score tile.
  int64_t blockM = 0, blockN = 0;
  /// The query heads of a KV head are rows of one tile: row r is query r / group, head r % group.
  bool packed = false;
  int64_t group = 1;

  /// Columns of tiles of Q and K, and of V and O: the head dims rounded up to a multiple of 16.
  int64_t paddedDimQK() { return llvm::alignTo(op.getDimQK(), 16); }
  int64_t paddedDimV() { return llvm::alignTo(op.getDimV(), 16); }
};

/// What one CTA computes, decoded from its program id. Scalars, i32.
struct WorkItem {
  /// Sequence, its index in q, k, v and o (0 for varlen), KV head, and KV split (null if none).
  mlir::Value batch, tensorBatch, headKv, split;
  /// Query head; null when packed, where it varies with the row.
  mlir::Value head;
  /// Lengths of this sequence and where it starts in the tensors (constant 0 unless varlen).
  mlir::Value lenQ, lenKv, offsetQ, offsetKv;
  /// First row of the tile and number of rows of the sequence (queries times group when packed).
  mlir::Value firstRow, numRows;
};

/// Decodes the program id. `descending`: the last rows, which see most keys, come first.
WorkItem decodeWork(TileBuilder &builder, AttentionProblem &problem, bool descending);

/// The positions that the rows of a tile stand for, and whether they exist.
struct RowPositions {
  /// i32 tile [rows]: query index within the sequence, and in the tensor.
  mlir::Value query, tensorQuery;
  /// Query head: a tile [rows] when packed, else a scalar.
  Varying head;
  /// i1 tile [rows].
  mlir::Value exists;
};
RowPositions rowPositions(TileBuilder &builder, AttentionProblem &problem, const WorkItem &work);

/// A range of keys to visit and the subrange that needs no mask. i32.
struct KeyRange {
  mlir::Value lower, fullLower, fullUpper, upper;
};

/// Writes the bounds region for the rows of this tile, rounds the lower end down to a block and
/// keeps the part of this CTA's split.
mlir::FailureOr<KeyRange> keyRange(TileBuilder &builder, AttentionProblem &problem,
                                   const WorkItem &work, InlineScope scope);

/// The state of the online softmax over a tile of rows. Max is that of scores whose exponent scale
/// is given separately.
struct SoftmaxState {
  mlir::Value acc, max, sum;
};

/// The normalised output tile and the log-sum-exp (natural log) of each row.
struct RowResults {
  mlir::Value o, lse;
};

/// Adds the sink logits, if any, and divides. Rows that saw no key give 0 and −∞, or the sink.
RowResults finishRows(TileBuilder &builder, const SoftmaxState &state, double exponentScale,
                      const Varying &sink);

/// Writes the kernel of an attn.prefill or attn.decode before `func`.
mlir::LogicalResult buildAttentionKernel(mlir::func::FuncOp func,
                                         mlir::attn::AttentionOpInterface op);
/// Writes the kernel of an attn.combine before `func`.
mlir::LogicalResult buildCombineKernel(mlir::func::FuncOp func, mlir::attn::CombineOp op);

} // namespace attnc

#endif // ATTNC_LIB_CONVERSION_ATTNTOTILE_ATTNTOTILE_H
