// How one thread sees a tile, a global tensor and shared memory: the vocabulary of the patterns of
// convert-tile-to-nvvm. Internal to this library.
//
// The conversion is one to many. A tile becomes the scalars its layout gives a thread, register 0
// first. A memref becomes its base pointer and its dynamic strides. A shared buffer becomes a
// pointer to its first byte, and so do mbarriers; a tensor map becomes a pointer to the parameter.
#ifndef ATTNC_LIB_CONVERSION_TILETONVVM_THREADVIEW_H
#define ATTNC_LIB_CONVERSION_TILETONVVM_THREADVIEW_H

#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Dialect/Tile/TileLayout.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/DialectConversion.h"

namespace attnc {

/// Converts tiles, memrefs and shared buffers as described above.
class ThreadTypeConverter : public mlir::TypeConverter {
public:
  explicit ThreadTypeConverter(mlir::MLIRContext *context);
};

/// The layout of a converted tile; every tile has one here.
mlir::tile::Layout layoutOf(mlir::RankedTensorType type);
/// Whether the type is a tile with a layout.
bool isPlacedTile(mlir::Type type);

/// Builds i32 arithmetic on the thread's place in the CTA.
class ThreadBuilder {
public:
  ThreadBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, i32(b)); }
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value less(mlir::Value a, mlir::Value b);

  /// threadIdx.x and its lane.
  mlir::Value thread();
  mlir::Value lane();
  /// The thread's warp, counted from the first warp of the role around the insertion point.
  mlir::Value warp();

  /// What lane and warp contribute to coordinate `dim`; register r adds layout.regCoord(r)[dim].
  mlir::Value base(const mlir::tile::Layout &layout, int64_t dim);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  /// Σ digit·step over the modes of one counter; null when nothing moves.
  mlir::Value digits(llvm::ArrayRef<mlir::tile::Mode> modes, int64_t dim, mlir::Value counter);
};

/// The consecutive warps that execute an op: those of a warp role, or all of the kernel's.
struct WarpRole {
  /// None outside of roles.
  std::optional<int64_t> index;
  int64_t firstWarp, warps;
};

/// Lowers the kernel's warp roles to branches and makes the uniform warp index where it is needed.
/// Comes before the conversion. Fails, with a diagnostic, on budgets that the hardware cannot give.
mlir::LogicalResult prepareWarps(mlir::tile::KernelOp kernel);

/// The role around the ops of a block, during the conversion too.
WarpRole enclosingRole(mlir::Block *block);

/// ThreadBuilder::warp() from a shuffle, so that the assembler knows that all lanes agree.
mlir::Value uniformWarp(ThreadBuilder &tb);

/// The 32-bit address in shared memory that assembly takes.
mlir::Value sharedAddress(ThreadBuilder &tb, mlir::Value pointer);

/// PTX with side effects; `result` may be null.
mlir::Operation *emitAssembly(ThreadBuilder &tb, mlir::Type result, mlir::ValueRange operands,
                              llvm::StringRef text, llvm::StringRef constraints);

/// A global tensor as a thread addresses it.
struct GlobalView {
  GlobalView(ThreadBuilder &tb, mlir::MemRefType type, mlir::ValueRange converted);

  /// base + Σ index·stride over the given leading indices (i32), in 64 bits.
  mlir::Value address(ThreadBuilder &tb, llvm::ArrayRef<mlir::Value> indices) const;
  /// `pointer` moved by `index` (i32) along dimension `dim`.
  mlir::Value move(ThreadBuilder &tb, mlir::Value pointer, mlir::Value index, int64_t dim) const;

  mlir::MemRefType type;
  mlir::Value base;
  /// One i64 a dimension.
  llvm::SmallVector<mlir::Value> strides;
};

/// `pointer` moved by a constant or computed number of elements of `elementType`.
mlir::Value movePointer(ThreadBuilder &tb, mlir::Value pointer, mlir::Type elementType,
                        int64_t elements);
mlir::Value movePointer(ThreadBuilder &tb, mlir::Value pointer, mlir::Type elementType,
                        mlir::Value elements);

/// Two scalars of a 16-bit type as the i32 that matrix instructions take, first in the low half.
mlir::Value packPair(ThreadBuilder &tb, mlir::Value low, mlir::Value high);

/// Adds the patterns of one file each.
void populateElementwisePatterns(const ThreadTypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populateGlobalMemoryPatterns(const ThreadTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);
void populateSharedMemoryPatterns(const ThreadTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);
void populateProductPatterns(const ThreadTypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateBarrierPatterns(const ThreadTypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateAsyncProductPatterns(const ThreadTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);
/// Scalar f32 math ops to the approximate instructions of the special function unit.
void populateMathToNVVMPatterns(mlir::RewritePatternSet &patterns);

/// Discardable attribute of a tile.alloc_shared or mbarrier_alloc: its byte offset in the CTA's
/// shared memory.
inline constexpr llvm::StringLiteral kSharedOffsetAttrName = "tile.offset";
/// PTX state spaces as LLVM address spaces.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
/// The module's dynamic shared memory symbol.
inline constexpr llvm::StringLiteral kSharedSymbol = "attnc_shared";

} // namespace attnc

#endif // ATTNC_LIB_CONVERSION_TILETONVVM_THREADVIEW_H
