// Reads the text that ptxas, nvJitLink and the driver print: registers, spills, shared memory,
// warnings and the first error. Pure text in, facts out.
#ifndef ATTNC_RUNTIME_ASSEMBLERLOG_H
#define ATTNC_RUNTIME_ASSEMBLERLOG_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

/// What one entry function uses; -1 where the log does not say.
struct KernelResources {
  std::string entry;
  int registers = -1;
  std::int64_t spillStoreBytes = -1;
  std::int64_t spillLoadBytes = -1;
  std::int64_t stackBytes = -1;
  /// Static shared memory; dynamic shared memory is the launch's.
  std::int64_t sharedBytes = -1;
  int barriers = -1;
};

/// Resources of every entry function in a verbose log, in its order.
std::vector<KernelResources> parseResources(std::string_view log);

/// Warning and performance-advisory lines, each once, then one line for each kernel that spills.
std::vector<std::string> parseWarnings(std::string_view log);

/// The first line that states an error, else the first line that is not empty, else "(no log)".
std::string firstErrorLine(std::string_view log);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_ASSEMBLERLOG_H
