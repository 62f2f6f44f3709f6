// What attnc says on stderr: errors, notes, progress. Artefacts are Output.h's.
#ifndef ATTNC_TOOLS_MESSAGES_H
#define ATTNC_TOOLS_MESSAGES_H

#include "attnc/Runtime/Status.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <string>

namespace attnc::cli {

/// "attnc: error: …" and "attnc: note: …".
void error(const llvm::Twine &message);
void note(const llvm::Twine &message);

/// Takes a progress line off the terminal before something else prints.
void clearProgressLine();

/// Prints a runtime failure, with the tool's log when there is one. \returns its exit code.
int report(const rt::Status &status);

/// Version of attnc and of the LLVM in it.
void printVersion(llvm::raw_ostream &stream);
/// "attnc 0.1.0 <build id>": the build id is a hash of this executable's contents.
std::string compilerId();

/// In a developer's tree, lets the runtime find the assembler that `./dev setup` put into the
/// project's .venv, unless the environment already names a CUDA.
void preferProjectAssembler(const char *argv0);

/// Shows how far a row of steps has come: one line that is rewritten on a terminal, and elsewhere a
/// heartbeat when a step has taken long. Silent for a single step.
class Progress {
public:
  explicit Progress(unsigned total);
  ~Progress();
  void step(const llvm::Twine &what);

private:
  unsigned total, current = 0;
  bool terminal;
  std::chrono::steady_clock::time_point lastPrint;
};

} // namespace attnc::cli

#endif // ATTNC_TOOLS_MESSAGES_H
