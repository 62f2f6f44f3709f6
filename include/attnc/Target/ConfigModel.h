// A static cost model of the mma.sync schedule: which tile sizes fit a target, and how fast each
// ought to be. It orders candidates; the bench, not this model, says what is true.
#ifndef ATTNC_TARGET_CONFIGMODEL_H
#define ATTNC_TARGET_CONFIGMODEL_H

#include "attnc/Target/Target.h"

#include <string>
#include <vector>

namespace attnc {

/// What of a problem bears on its tile sizes. Dims in elements.
struct ConfigProblem {
  int64_t dimQK = 0, dimV = 0;
  int64_t elementBytes = 2;
  /// Rows one KV head offers a tile when few (decode: group × query tokens), else 0.
  int64_t rowLimit = 0;
};

/// One candidate and the model's verdict.
struct ConfigCandidate {
  int64_t blockM = 0, blockN = 0, warps = 0, stages = 0;
  bool qInRegisters = true;
  /// Model: bytes of shared memory a CTA, registers a thread, CTAs an SM, warps an SM, and cycles an
  /// SM spends per 16 rows × 16 keys.
  int64_t sharedBytes = 0, registers = 0, ctasPerSm = 0;
  double cycles = 0;
  /// Empty if feasible, else why not.
  std::string rejected;
};

/// Bytes of shared memory the schedule uses.
int64_t sharedBytesOf(const ConfigCandidate &candidate, const ConfigProblem &problem);

/// Fills the model's figures and `rejected`.
void evaluateCandidate(ConfigCandidate &candidate, const ConfigProblem &problem,
                       const TargetInfo &target);

/// All candidates, best first, the rejected ones last. For the host a single candidate.
std::vector<ConfigCandidate> rankCandidates(const ConfigProblem &problem, const TargetInfo &target);

} // namespace attnc

#endif // ATTNC_TARGET_CONFIGMODEL_H
