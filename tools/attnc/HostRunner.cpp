// Running on this machine's CPU.
#include "Messages.h"
#include "Runner.h"

#include "attnc/Support/ExitCodes.h"

#include <algorithm>
#include <chrono>

using namespace llvm;

namespace attnc::cli {

int runOnHost(const Spec &spec, TargetResult &result, Problem &problem,
              std::map<std::string, HostTensor> &outputs, unsigned threads, int64_t splits,
              RunFacts &facts) {
  const std::map<std::string, int64_t> config(result.compiled.config.begin(),
                                              result.compiled.config.end());
  auto divided = config.find("split_kv");
  if (splits > 1 && (divided == config.end() || divided->second == 0)) {
    error("splits is " + Twine(splits) + ", but '" + spec.name +
          "' was compiled with split_kv=0, which does not divide the keys; leave split_kv out of "
          "--config, or use --splits 1");
    return kExitUnsupported;
  }
  facts.splits = std::max<int64_t>(splits, 1);
  std::map<std::string, HostTensor> tensors = problem.inputs;
  for (auto &[name, tensor] : outputs)
    tensors[name] = tensor;
  auto begin = std::chrono::steady_clock::now();
  std::string fault = result.compiled.host->run(problem.shape.symbols(spec, facts.splits), tensors,
                                                problem.scalars, threads);
  auto end = std::chrono::steady_clock::now();
  if (!fault.empty()) {
    error("host: " + fault);
    return StringRef(fault).starts_with("out of memory") ? kExitOutOfMemory : kExitInternal;
  }
  facts.milliseconds = std::chrono::duration<double, std::milli>(end - begin).count();
  facts.where = "host, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  return kExitOk;
}

} // namespace attnc::cli
