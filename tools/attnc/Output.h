// Where artefacts go: stdout, a file, or one file a target in a directory. Files appear complete or
// not at all.
#ifndef ATTNC_TOOLS_OUTPUT_H
#define ATTNC_TOOLS_OUTPUT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace attnc::cli {

/// What `-o` and the number of targets ask for.
class Output {
public:
  /// `argument` is -o's (may be empty), `name` the spec's, `binary` whether artefacts are not text.
  Output(llvm::StringRef argument, llvm::StringRef name, bool several, bool binary);

  /// Refuses what cannot work before anything is compiled. \returns an exit code.
  int prepare();

  /// Writes one artefact. \returns an exit code; errors are printed.
  int write(llvm::StringRef target, llvm::StringRef extension, llvm::StringRef bytes);

  bool toStdout() const { return stdoutOnly; }

private:
  std::string argument, name;
  bool several, stdoutOnly, directory = false;
};

/// Writes out what outs() holds; an error names the reason. \returns an exit code.
int flushStdout();

/// Makes the process end with an error and its exit code when stdout cannot take what was written to
/// it, whichever way it ends; LLVM would call that a crash. Call once, before anything is printed.
void checkStdoutAtExit();

/// Writes a file atomically, an error names it. \returns an exit code.
int writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_OUTPUT_H
