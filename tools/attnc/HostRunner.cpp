// Running on this machine's CPU.
#include "Messages.h"
#include "Runner.h"

#include "attnc/Support/ExitCodes.h"

#include <chrono>

namespace attnc::cli {

int runOnHost(const Spec &spec, TargetResult &result, Problem &problem,
              std::map<std::string, HostTensor> &outputs, unsigned threads, RunFacts &facts) {
  // The host does not divide the keys of a sequence.
  facts.splits = 1;
  std::map<std::string, HostTensor> tensors = problem.inputs;
  for (auto &[name, tensor] : outputs)
    tensors[name] = tensor;
  auto begin = std::chrono::steady_clock::now();
  std::string fault = result.compiled.host->run(problem.shape.symbols(spec, facts.splits), tensors,
                                                problem.scalars, threads);
  auto end = std::chrono::steady_clock::now();
  if (!fault.empty()) {
    error("host: " + fault);
    return kExitInternal;
  }
  facts.milliseconds = std::chrono::duration<double, std::milli>(end - begin).count();
  facts.where = "host, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  return kExitOk;
}

} // namespace attnc::cli
