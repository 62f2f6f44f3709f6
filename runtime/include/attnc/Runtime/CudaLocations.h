// Where this machine keeps CUDA: directories to search for libraries, tools and headers, in order,
// with remarks on settings that could not be used as they are. Finds directories; opens nothing.
#ifndef ATTNC_RUNTIME_CUDALOCATIONS_H
#define ATTNC_RUNTIME_CUDALOCATIONS_H

#include "attnc/Runtime/Status.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnc::rt {

/// Looks up an environment variable; a parameter so that tests can bring their own environment.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string &)>;

/// The environment of this process.
std::optional<std::string> processEnvironment(const std::string &name);

/// Search order:
///   1. ATTNC_CUDA_PATH, a ':' list. Each entry is a toolkit root, a directory of libraries, or the
///      `nvidia` directory of a Python environment (site-packages/nvidia, as NVIDIA's wheels make
///      it);
///   2. CUDA_HOME, then CUDA_PATH: one toolkit root. Empty list entries and surrounding spaces are
///      dropped with a remark; a directory that does not exist is skipped with a remark;
///   3. $VIRTUAL_ENV/lib/python3*/site-packages/nvidia;
///   4. /usr/local/cuda.
/// After these, libraries are left to the dynamic linker, and ptxas to PATH.
struct CudaLocations {
  std::vector<std::string> libraryDirs;
  std::vector<std::string> binaryDirs;
  std::vector<std::string> includeDirs;
  /// For people: "CUDA_HOME is ':/usr/local/cuda'; its empty entry is ignored".
  std::vector<std::string> remarks;
  /// For file overrides (ATTNC_PTXAS, ATTNC_LIBCUDA, …) and PATH.
  EnvironmentLookup environment = processEnvironment;

  static CudaLocations find(const EnvironmentLookup &environment = processEnvironment);

  /// The executable \p name: \p overrideVariable if set, else the first in binaryDirs, else in
  /// PATH. \returns Environment listing where it looked. A set override that is not executable is
  /// an error, never ignored.
  Result<std::string> findProgram(const std::string &name,
                                  const std::string &overrideVariable) const;

  /// The remarks as "; "-separated text with a leading " (" and a closing ")", or "".
  std::string remarkSuffix() const;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_CUDALOCATIONS_H
