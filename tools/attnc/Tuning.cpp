// Asking the tuning store.
#include "Tuning.h"

#include "CommonOptions.h"
#include "Messages.h"

#include "attnc/Support/ExitCodes.h"
#include <set>

namespace attnc::cli {

std::string tuningKey(const Spec &spec) {
  Spec problem = spec;
  problem.name = "tuning";
  problem.layout = SpecLayout::BSHD;
  return specHash(problem);
}

int compileTuned(Input &input, CompileOptions options, TargetResult &result) {
  if (!configOverrides.empty()) {
    options.config += configOverrides;
    return compileTarget(input, options, result);
  }
  std::vector<std::string> remarks;
  rt::Result<std::optional<rt::TunedConfig>> tuned = rt::findTuned(
      rt::tuningStorePath(tuningPath), tuningKey(input.spec), options.target->name.str(), remarks);
  if (!tuned.ok())
    return report(tuned.status());
  // Once for each line, however many targets are compiled.
  static std::set<std::string> said;
  for (const std::string &remark : remarks)
    if (said.insert(remark).second)
      note(remark + "; the line is passed over");
  result.tuned = *tuned;
  if (result.tuned)
    options.config += result.tuned->config;
  int code = compileTarget(input, options, result);
  if (code != kExitOk && result.tuned && !result.tuned->config.empty())
    note("the configuration is from the tuning store, " + result.tuned->where + " (" +
         result.tuned->config + "); --tuning none goes without it");
  return code;
}

} // namespace attnc::cli
