// Implementations that live in Python, measured through a worker process. The protocol is described
// in bench/peers/worker.py; a crash, a hang or an error of the worker is one refusal.
#ifndef ATTNC_BENCH_WORKERPEERS_H
#define ATTNC_BENCH_WORKERPEERS_H

#include "Implementation.h"
#include "Worker.h"

namespace attnc::bench {

/// Compares an output with the truth of the current cell.
class OutputChecker {
public:
  virtual ~OutputChecker() = default;
  /// \p bytes is O in the configuration's dtype, contiguous [B, Hq, Sq, D]. \returns the row's
  /// `correctness`, or the failure to check.
  virtual Result<Json> check(const Config &config, const std::string &bytes) = 0;
};

struct WorkerSettings {
  double prepareSeconds = 180;
  double sampleSeconds = 60;
  /// Bytes written between cold samples: more than twice the L2.
  std::int64_t flushBytes = 0;
  std::int64_t l2Bytes = 0;
  std::uint64_t seed = 1;
  /// Where outputs are handed over; a memory file system where there is one.
  std::string outputDirectory = "/dev/shm";
};

/// \p plugin is "path.py:function", or empty for a peer that worker.py knows by its id.
std::unique_ptr<Implementation> makeWorkerPeer(std::string id, std::string regime,
                                               std::string plugin, std::shared_ptr<Worker> worker,
                                               OutputChecker *checker,
                                               const WorkerSettings &settings);

} // namespace attnc::bench

#endif // ATTNC_BENCH_WORKERPEERS_H
