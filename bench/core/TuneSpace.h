// The configurations that `tune` tries: lists of values for fields of attnc's configuration. Knows
// nothing of what a field does; the compiler refuses what it cannot build, with its reason.
#ifndef ATTNC_BENCH_TUNESPACE_H
#define ATTNC_BENCH_TUNESPACE_H

#include "Config.h"

#include <map>
#include <string>
#include <vector>

namespace attnc::bench {

/// Every combination of the values; the other fields are left to the compiler.
using TuneSpace = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// "block_n=64,80,96;stages=2,3". \returns InvalidArgument with the part that is wrong.
Result<TuneSpace> parseTuneSpace(const std::string &text);

/// What is tried when nobody says: for a schedule like \p chosen, the compiler's own choice.
std::vector<TuneSpace> defaultTuneSpaces(const std::string &target, bool decode,
                                         const std::map<std::string, std::int64_t> &chosen);

/// "block_n=80,stages=3" for every combination of every space, each once, without those that only
/// repeat \p chosen.
std::vector<std::string> tuneCandidates(const std::vector<TuneSpace> &spaces,
                                        const std::map<std::string, std::int64_t> &chosen);

} // namespace attnc::bench

#endif // ATTNC_BENCH_TUNESPACE_H
