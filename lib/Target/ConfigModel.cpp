// The static cost model behind attn-choose-config.
#include "attnc/Target/ConfigModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace attnc;

/// Head dims as the matrix products see them.
static int64_t padded(int64_t dim) { return llvm::alignTo(dim, 16); }

/// A padded row of shared memory: an odd number of 16-byte chunks (see !tile.shared).
static int64_t pitchBytes(int64_t dim, int64_t elementBytes) {
  return padded(dim) * elementBytes + 16;
}

int64_t attnc::sharedBytesOf(const ConfigCandidate &c, const ConfigProblem &p) {
  int64_t kv = pitchBytes(p.dimQK, p.elementBytes) + pitchBytes(p.dimV, p.elementBytes);
  int64_t q = c.qInRegisters ? 0 : c.blockM * pitchBytes(p.dimQK, p.elementBytes);
  return c.stages * c.blockN * kv + q;
}

/// Registers of one thread: accumulator, scores, Q and P operands, and addresses and state.
static int64_t registersOf(const ConfigCandidate &c, const ConfigProblem &p) {
  int64_t rowsPerWarp = c.blockM / c.warps;
  int64_t acc = rowsPerWarp * padded(p.dimV) / 32;
  int64_t scores = rowsPerWarp * c.blockN / 32;
  int64_t q = c.qInRegisters ? rowsPerWarp * padded(p.dimQK) / 64 : rowsPerWarp / 2;
  // Fragments in flight, addresses, softmax state, loop counters.
  constexpr int64_t kFixed = 44;
  return acc + scores + q + kFixed;
}

void attnc::evaluateCandidate(ConfigCandidate &c, const ConfigProblem &p, const TargetInfo &target) {
  c.sharedBytes = sharedBytesOf(c, p);
  c.registers = registersOf(c, p);
  c.rejected.clear();
  if (target.isHost) {
    c.ctasPerSm = 1;
    return;
  }
  int64_t rowsPerWarp = c.blockM / c.warps;
  if (c.blockM % c.warps != 0 || rowsPerWarp % 16 != 0) {
    c.rejected = llvm::formatv("{0} rows over {1} warps is not a multiple of 16 rows a warp",
                               c.blockM, c.warps);
    return;
  }
  if (c.sharedBytes > target.sharedPerBlock) {
    c.rejected = llvm::formatv("needs {0} bytes of shared memory; {1} allows {2}", c.sharedBytes,
                               target.name, target.sharedPerBlock);
    return;
  }
  if (c.registers > 250) {
    c.rejected = llvm::formatv("needs about {0} registers a thread; 255 is the limit", c.registers);
    return;
  }
  if (p.rowLimit && c.blockM > std::max<int64_t>(16, llvm::alignTo(p.rowLimit, 16))) {
    c.rejected = llvm::formatv("{0} rows where a KV head has {1}", c.blockM, p.rowLimit);
    return;
  }
  int64_t allocated = llvm::alignTo(c.registers, 8) * 32 * c.warps;
  // Each CTA's shared memory carries 1 KiB of system use.
  c.ctasPerSm = std::min({target.sharedPerSm / (c.sharedBytes + 1024),
                          target.registersPerSm / allocated, int64_t(48) / c.warps});
  c.ctasPerSm = std::max<int64_t>(c.ctasPerSm, 1);
  double warps = static_cast<double>(c.ctasPerSm * c.warps);

  // Per 16 rows × 16 keys: the products of both mmas, the reads of K and V from shared memory that
  // each warp makes for its rows, and the exponentials; the slowest pipe bounds, the rest half hides.
  double rowGroups = rowsPerWarp / 16.0;
  double products = (padded(p.dimQK) + padded(p.dimV)) / 16.0 * 2;
  double mma = products * 1.45;
  double shared = (padded(p.dimQK) + padded(p.dimV)) / 16.0 * 4 / rowGroups;
  if (!c.qInRegisters)
    shared += padded(p.dimQK) / 16.0 * 4 * 16 / c.blockN;
  double exponentials = 256.0 / 16;
  double bound = std::max({mma, shared, exponentials});
  double rest = mma + shared + exponentials - bound;
  // Below eight warps an SM latencies show.
  double occupancy = std::min(1.0, 0.55 + 0.45 * warps / 8);
  // A step's fixed cost (barrier, row statistics) is shared by its keys.
  double overhead = 1 + 10.0 / c.blockN;
  c.cycles = (bound + 0.35 * rest) * overhead / occupancy;
}

std::vector<ConfigCandidate> attnc::rankCandidates(const ConfigProblem &problem,
                                                   const TargetInfo &target) {
  std::vector<ConfigCandidate> candidates;
  if (target.isHost) {
    ConfigCandidate c{.blockM = problem.rowLimit ? 16 : 64, .blockN = 64, .warps = 1, .stages = 2};
    evaluateCandidate(c, problem, target);
    return {c};
  }
  for (int64_t warps : {1, 2, 4, 8})
    for (int64_t rowsPerWarp : {16, 32})
      for (int64_t blockN : {16, 32, 64, 128})
        for (int64_t stages : {2, 3})
          for (bool qInRegisters : {true, false}) {
            ConfigCandidate c{.blockM = warps * rowsPerWarp, .blockN = blockN, .warps = warps,
                              .stages = stages, .qInRegisters = qInRegisters};
            // A decode CTA is one warp: its rows are few and the grid supplies the parallelism.
            if (problem.rowLimit && warps != 1 && problem.rowLimit <= 16 * warps / 2)
              continue;
            if (!problem.rowLimit && warps < 4)
              continue;
            evaluateCandidate(c, problem, target);
            candidates.push_back(c);
          }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto &a, const auto &b) {
    if (a.rejected.empty() != b.rejected.empty())
      return a.rejected.empty();
    return a.rejected.empty() && a.cycles < b.cycles;
  });
  return candidates;
}
