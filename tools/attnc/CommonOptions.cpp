// The verbs and the options that several of them share.
#include "CommonOptions.h"
#include "Verbs.h"

using namespace llvm;

namespace attnc::cli {

cl::SubCommand &compileVerb() {
  static cl::SubCommand verb("compile",
                             "Compile a spec for one or more targets");
  return verb;
}

cl::SubCommand &runVerb() {
  static cl::SubCommand verb("run",
                             "Run a spec on a GPU or this CPU and check it against fp64");
  return verb;
}

cl::SubCommand &checkVerb() {
  static cl::SubCommand verb("check",
                             "Say for each target whether it can run a spec, and why not");
  return verb;
}

cl::SubCommand &explainVerb() {
  static cl::SubCommand verb("explain",
                             "Say what would be compiled, and why this way");
  return verb;
}

cl::SubCommand &matrixVerb() {
  static cl::SubCommand verb("matrix",
                             "Print the table of features by targets, from real compiles");
  return verb;
}

cl::SubCommand &envVerb() {
  static cl::SubCommand verb("env",
                             "Say what this machine has: driver, GPUs, assemblers");
  return verb;
}

cl::SubCommand &specVerb() {
  static cl::SubCommand verb("spec",
                             "Format a spec (fmt), print the schema (schema), make one from a model (from-hf)");
  return verb;
}

cl::opt<std::string> specPath(cl::Positional, cl::value_desc("SPEC"),
                              cl::desc("<spec.yaml, or attn IR in .mlir>"), cl::Required,
                              cl::sub(compileVerb()), cl::sub(explainVerb()), cl::sub(runVerb()),
                              cl::sub(checkVerb()));
cl::list<std::string> targetNames(
    "target", cl::CommaSeparated, cl::value_desc("LIST"),
    cl::desc("sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120,host, all, or native (the GPU here)"),
    cl::sub(compileVerb()), cl::sub(explainVerb()), cl::sub(runVerb()), cl::sub(checkVerb()),
    cl::sub(matrixVerb()));
cl::opt<std::string> configOverrides(
    "config", cl::value_desc("k=v,…"),
    cl::desc("Force parts of the configuration: block_m, block_n, warps, stages, pack_gqa, "
             "q_in_registers, split_kv"),
    cl::sub(compileVerb()), cl::sub(explainVerb()), cl::sub(runVerb()), cl::sub(checkVerb()));
cl::opt<std::string> tuningPath(
    "tuning", cl::value_desc("FILE"),
    cl::desc("Tuning store of attn-bench tune, or none; default $ATTNC_TUNING, else "
             "~/.local/share/attnc/tuning.jsonl"),
    cl::sub(compileVerb()), cl::sub(explainVerb()), cl::sub(runVerb()));
cl::opt<bool> asJson("json", cl::desc("Print JSON"), cl::sub(explainVerb()), cl::sub(checkVerb()),
                     cl::sub(matrixVerb()), cl::sub(envVerb()), cl::sub(runVerb()));

} // namespace attnc::cli
