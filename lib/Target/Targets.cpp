// The capability table. Adding a target is adding a row (docs/Tutorials/AddAnSM.md).
//
// Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (shared
// memory per block is the per-SM figure less 1 KiB); PTX ISA release notes (least version per SM).
#include "attnc/Target/Target.h"

#include "llvm/ADT/STLExtras.h"

using namespace attnc;

static constexpr int64_t kKiB = 1024;

static const TargetInfo kTargets[] = {
    {.name = "sm_80", .products = "A100", .smVersion = 80, .ptxVersion = 70,
     .sharedPerBlock = 163 * kKiB, .sharedPerSm = 164 * kKiB, .l2Bytes = 40 * kKiB * kKiB, .multiprocessors = 108,
     .mmaSync = true, .cpAsync = true},
    {.name = "sm_86", .products = "A10, RTX 3090", .smVersion = 86, .ptxVersion = 71,
     .sharedPerBlock = 99 * kKiB, .sharedPerSm = 100 * kKiB, .l2Bytes = 6 * kKiB * kKiB, .multiprocessors = 72,
     .mmaSync = true, .cpAsync = true},
    {.name = "sm_89", .products = "L40, L40S, RTX 4090", .smVersion = 89, .ptxVersion = 78,
     .sharedPerBlock = 99 * kKiB, .sharedPerSm = 100 * kKiB, .l2Bytes = 96 * kKiB * kKiB, .multiprocessors = 142,
     .mmaSync = true, .cpAsync = true, .mmaSyncFp8 = true},
    {.name = "sm_90a", .products = "H100, H200", .smVersion = 90, .ptxVersion = 80,
     .sharedPerBlock = 227 * kKiB, .sharedPerSm = 228 * kKiB, .l2Bytes = 50 * kKiB * kKiB, .multiprocessors = 132,
     .mmaSync = true, .cpAsync = true, .mmaSyncFp8 = true, .wgmma = true, .tma = true,
     .clusters = true},
    {.name = "sm_100a", .products = "B200", .smVersion = 100, .ptxVersion = 86,
     .sharedPerBlock = 227 * kKiB, .sharedPerSm = 228 * kKiB, .l2Bytes = 126 * kKiB * kKiB, .multiprocessors = 148,
     .mmaSync = true, .cpAsync = true, .mmaSyncFp8 = true, .tma = true, .clusters = true,
     .tcgen05 = true},
    {.name = "sm_120", .products = "RTX 5090", .smVersion = 120, .ptxVersion = 87,
     .sharedPerBlock = 99 * kKiB, .sharedPerSm = 100 * kKiB, .l2Bytes = 96 * kKiB * kKiB, .multiprocessors = 170,
     .mmaSync = true, .cpAsync = true, .mmaSyncFp8 = true, .tma = true, .clusters = true},
    {.name = "host", .products = "any x86-64 or AArch64 CPU", .isHost = true},
};

llvm::ArrayRef<TargetInfo> attnc::allTargets() { return kTargets; }

const TargetInfo *attnc::lookupTarget(llvm::StringRef name) {
  const auto *row = llvm::find_if(kTargets, [&](const TargetInfo &t) { return t.name == name; });
  return row == std::end(kTargets) ? nullptr : row;
}
