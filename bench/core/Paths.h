// Where the Python parts of the bench are, in a source tree or an installation.
#ifndef ATTNC_BENCH_PATHS_H
#define ATTNC_BENCH_PATHS_H

#include "Config.h"

#include <string>
#include <vector>

namespace attnc::bench {

/// `bench/` of the source tree above the executable, or share/attnc/bench of an installation.
/// \returns Environment listing where it looked.
Result<std::string> benchDirectory();

/// Python for the analysis: ATTNC_BENCH_PYTHON, else the project's .venv, else python3.
std::string analysisPython();

/// Python for the peers, which need torch: \p given, else ATTNC_BENCH_WORKER_PYTHON, else python3.
std::string workerPython(const std::string &given);

/// Replaces this process by `python -m attnc_bench \p arguments`. Returns only on failure, with the
/// exit code.
int execAnalysis(const std::vector<std::string> &arguments);

} // namespace attnc::bench

#endif // ATTNC_BENCH_PATHS_H
