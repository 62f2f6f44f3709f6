// What `run` and `tune` share: the machine, the implementations on it, the compiler's packages,
// Ctrl-C, and how a failure is told.
#ifndef ATTNC_BENCH_SETUP_H
#define ATTNC_BENCH_SETUP_H

#include "Catalogue.h"
#include "Implementation.h"
#include "RunCommand.h"
#include "Spec.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace attnc::bench {

class GpuMachine;

struct Setup {
  std::unique_ptr<Machine> machine;
  /// The machine if it is a GPU, else null and the reason.
  GpuMachine *gpu = nullptr;
  std::string noGpu;
  std::vector<std::unique_ptr<Implementation>> implementations;
};

/// The GPU that \p arguments name, or the host. Nothing is printed but why there is no GPU.
Setup openMachine(const RunArguments &arguments);

/// \p selected on the machine of \p setup; what cannot run there is an implementation that says
/// why.
std::vector<std::unique_ptr<Implementation>>
makeImplementations(const Setup &setup, const RunArguments &arguments,
                    const std::vector<Selected> &selected, const PackageSource &packages);

/// The compiler beside this executable and a directory for its packages, which is made.
Result<PackageSource> makePackageSource(const RunArguments &arguments);

std::string newRunId();

/// The command that repeats a row, but for --impl and --only.
std::string repeatPrefix(const RunArguments &arguments);

/// Set by Ctrl-C and SIGTERM once catchInterrupts was called; the second one ends the process.
extern std::atomic<bool> interrupted;
void catchInterrupts();

/// Prints an error. \returns its exit code.
int fail(const Status &status);
/// To stderr, as it is.
void say(const std::string &text);

} // namespace attnc::bench

#endif // ATTNC_BENCH_SETUP_H
