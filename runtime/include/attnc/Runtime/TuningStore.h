// The tuning store: which configuration was measured to be the fastest for a problem on a target. A
// text file, one JSON object a line, appended to by `attn-bench tune` and read by attnc; the last
// line of a problem and target counts.
//
//   {"tuning": 1, "key": "5f…", "target": "sm_90a", "config": "block_n=80,stages=3",
//    "device": "H200", "time": "2026-12-01T10:00:00Z", "ratio": 0.93, "evidence": {…}}
//
// `key` names the problem whatever it is called and however it is laid out in memory (`attnc
// explain
// --json` prints it as tuning_key). An empty `config` says that the compiler's own choice was the
// fastest. `ratio` is its time over that of the compiler's choice. `evidence` is for people.
#ifndef ATTNC_RUNTIME_TUNINGSTORE_H
#define ATTNC_RUNTIME_TUNINGSTORE_H

#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace attnc::rt {

struct TunedConfig {
  /// Fields to force, as --config takes them.
  std::string config;
  std::string device, time;
  double ratio = 1;
  /// "FILE:LINE"
  std::string where;
};

/// \p given if it is not empty, else $ATTNC_TUNING, else attnc/tuning.jsonl below $XDG_DATA_HOME or
/// ~/.local/share. Empty, which is no store: "none", or no home.
std::string tuningStorePath(const std::string &given,
                            const EnvironmentLookup &environment = processEnvironment);

/// The last entry for \p key and \p target; none if there is none, or no such file. A line that is
/// not an entry is passed over, with "FILE:LINE: reason" in \p remarks. \returns Environment if
/// there is a file that cannot be read.
Result<std::optional<TunedConfig>> findTuned(const std::string &path, const std::string &key,
                                             const std::string &target,
                                             std::vector<std::string> &remarks);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_TUNINGSTORE_H
