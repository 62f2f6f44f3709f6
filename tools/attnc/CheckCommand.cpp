// attnc check, and the verdicts that the matrix shares with it.
#include "CommonOptions.h"
#include "Messages.h"
#include "TargetSelection.h"
#include "Verbs.h"
#include "Verdict.h"

#include "attnc/Support/ExitCodes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attnc::cli {

static cl::opt<bool> assembleToo(
    "assemble", cl::desc("Compile to the end, not only to the schedule, and assemble where there is "
                         "an assembler: shows shared memory, registers and spills"),
    cl::sub(checkVerb()));

const char *Verdict::word() const {
  return code == kExitOk ? "ok" : code == kExitUnsupported ? "unsupported" : "failed";
}

Verdict judge(Input &input, const TargetInfo &target, const std::string &config, Depth depth) {
  Verdict verdict;
  verdict.depth = target.isHost ? std::min(depth, Depth::Full) : depth;
  CompileOptions options;
  options.target = &target;
  options.config = config;
  options.level = target.isHost ? CompileLevel::Program : CompileLevel::Ptx;
  if (depth == Depth::Schedule)
    options.stopAfter = lastTilePass(target);
  TargetResult result;
  CompileFailure failure = CompileFailure::None;
  {
    mlir::ScopedDiagnosticHandler quiet(&input.context, [&](mlir::Diagnostic &diagnostic) {
      if (verdict.reason.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        verdict.reason = diagnostic.str();
    });
    mlir::FailureOr<CompileResult> compiled = compileModule(*input.module, options, failure);
    if (failed(compiled)) {
      verdict.code = failure == CompileFailure::Unsupported ? kExitUnsupported
                     : failure == CompileFailure::Internal  ? kExitInternal
                                                            : kExitCompileFailed;
      if (verdict.reason.empty())
        verdict.reason = "no reason was given, which is a bug of attnc";
      return verdict;
    }
    result.compiled = std::move(*compiled);
  }
  verdict.reason.clear();
  verdict.config = result.compiled.config;
  if (target.isHost || depth == Depth::Schedule)
    return verdict;
  for (const KernelInterface &kernel : result.compiled.program.kernels)
    verdict.sharedBytes = std::max(verdict.sharedBytes, kernel.sharedBytes);
  if (depth != Depth::Assembled)
    return verdict;
  rt::AssembleOptions assembleOptions;
  assembleOptions.name = input.spec.name;
  rt::Result<rt::AssembleResult> assembled =
      rt::assemble(result.compiled.ptx, target.name.str(), assembleOptions);
  if (!assembled.ok()) {
    verdict.code = static_cast<int>(assembled.status().code());
    verdict.reason = assembled.status().message();
    return verdict;
  }
  for (const rt::KernelResources &kernel : assembled->kernels) {
    verdict.registers = std::max<int64_t>(verdict.registers, kernel.registers);
    verdict.spillBytes =
        std::max(verdict.spillBytes, kernel.spillStoreBytes + kernel.spillLoadBytes);
  }
  return verdict;
}

json::Object verdictJson(const TargetInfo &target, const Verdict &verdict) {
  json::Object config;
  for (const auto &[field, value] : verdict.config)
    config[field] = value;
  json::Object object{{"target", target.name},
                      {"verdict", verdict.word()},
                      {"assembled", verdict.ok() && verdict.depth == Depth::Assembled},
                      {"config", std::move(config)}};
  if (!verdict.ok())
    object["reason"] = verdict.reason;
  if (verdict.sharedBytes >= 0)
    object["shared_bytes"] = verdict.sharedBytes;
  if (verdict.registers >= 0) {
    object["registers"] = verdict.registers;
    object["spill_bytes"] = verdict.spillBytes;
  }
  return object;
}

/// "128x64, 8 warps, 2 stages", and when compiled "; 98304 B shared; 168 registers, no spills".
static std::string describe(const TargetInfo &target, const Verdict &verdict) {
  if (!verdict.ok())
    return verdict.reason;
  std::map<std::string, int64_t> config(verdict.config.begin(), verdict.config.end());
  std::string text = formatv("{0}x{1}", config["block_m"], config["block_n"]);
  if (target.isHost)
    return text + (verdict.depth == Depth::Schedule ? "" : ", compiled for this CPU");
  text += formatv(", {0} warps, {1} stages", config["warps"], config["stages"]);
  if (verdict.depth == Depth::Schedule)
    return text;
  text += formatv("; {0} B shared", verdict.sharedBytes);
  if (verdict.depth == Depth::Full)
    return text + "; not assembled";
  text += formatv("; {0} registers", verdict.registers);
  return text + (verdict.spillBytes > 0 ? formatv(", {0} B spilled", verdict.spillBytes).str()
                                        : std::string(", no spills"));
}

int checkMain() {
  std::vector<const TargetInfo *> targets;
  std::vector<std::string> names(targetNames.begin(), targetNames.end());
  if (names.empty())
    names.push_back("all");
  if (int code = selectTargets(names, targets))
    return code;
  Input input;
  if (int code = input.load(specPath))
    return code;
  Depth depth = !assembleToo            ? Depth::Schedule
                : hasOfflineAssembler() ? Depth::Assembled
                                        : Depth::Full;
  int worst = kExitOk;
  json::Array all;
  Progress progress(targets.size());
  for (const TargetInfo *target : targets) {
    progress.step("checking " + target->name);
    Verdict verdict = judge(input, *target, configOverrides, depth);
    if (!verdict.ok() && (worst == kExitOk || worst == kExitUnsupported))
      worst = verdict.code;
    if (asJson) {
      all.push_back(verdictJson(*target, verdict));
      continue;
    }
    clearProgressLine();
    outs() << left_justify(target->name, 10) << left_justify(verdict.word(), 13)
           << describe(*target, verdict) << "\n";
    outs().flush();
  }
  if (asJson)
    outs() << formatv("{0:2}", json::Value(json::Object{{"spec", input.spec.name},
                                                        {"hash", specHash(input.spec)},
                                                        {"targets", std::move(all)}}))
           << "\n";
  else if (depth == Depth::Full)
    note("no assembler here, so PTX was not assembled; ./dev setup installs one");
  return worst;
}

} // namespace attnc::cli
