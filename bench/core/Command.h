// Runs a program to its end and collects what it printed. For attnc and for Python's version
// questions; the long-lived worker is Worker's.
#ifndef ATTNC_BENCH_COMMAND_H
#define ATTNC_BENCH_COMMAND_H

#include <string>
#include <vector>

namespace attnc::bench {

struct CommandResult {
  /// Exit status; 128 + signal for a killed program, 127 if it could not be started.
  int exitCode = 127;
  bool timedOut = false;
  std::string standardOutput, standardError;
  /// The last line of standard error that is not empty, for messages.
  std::string lastErrorLine() const;
};

/// \p arguments[0] is the program, looked up in PATH.
CommandResult runCommand(const std::vector<std::string> &arguments, double timeoutSeconds);

/// The directory of this executable.
std::string executableDirectory();

bool fileExists(const std::string &path);

/// \p name beside this executable, else in PATH, else empty.
std::string findTool(const std::string &name);

/// Text as one word of a POSIX shell.
std::string shellQuote(const std::string &text);

} // namespace attnc::bench

#endif // ATTNC_BENCH_COMMAND_H
