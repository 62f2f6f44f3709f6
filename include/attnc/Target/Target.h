// What a target can do: the capability table that passes query instead of comparing SM numbers.
#ifndef ATTNC_TARGET_TARGET_H
#define ATTNC_TARGET_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace attnc {

/// One row of the table. Sizes are bytes; a host target has `isHost` and no GPU figures.
struct TargetInfo {
  /// "sm_90a", …, or "host": the name users type and LLVM's NVPTX `-mcpu`.
  llvm::StringRef name;
  /// Products, for messages and docs.
  llvm::StringRef products;
  bool isHost = false;
  /// 10·major + minor, 0 for the host.
  int smVersion = 0;
  /// Least PTX ISA version (10·major + minor) that knows this target.
  int ptxVersion = 0;
  /// Largest dynamic shared memory of one CTA, and shared memory of one SM.
  int64_t sharedPerBlock = 0, sharedPerSm = 0;
  /// The L2 cache that all multiprocessors share.
  int64_t l2Bytes = 0;
  int64_t registersPerSm = 65536;
  int multiprocessors = 0;
  /// mma.sync.m16n8k16 on f16 and bf16 with ldmatrix.
  bool mmaSync = false;
  /// cp.async with zero fill.
  bool cpAsync = false;
  bool mmaSyncFp8 = false;
  bool wgmma = false;
  bool tma = false;
  bool clusters = false;
  bool tcgen05 = false;
};

/// All targets, in the order shown to users.
llvm::ArrayRef<TargetInfo> allTargets();
/// The row of that name, or null.
const TargetInfo *lookupTarget(llvm::StringRef name);

} // namespace attnc

#endif // ATTNC_TARGET_TARGET_H
