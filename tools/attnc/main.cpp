// attnc: one driver with verbs. Main and dispatch only.
#include "CommandLine.h"
#include "CommonOptions.h"
#include "CrashReport.h"
#include "Messages.h"
#include "Output.h"
#include "Verbs.h"

#include "attnc/Support/ExitCodes.h"

using namespace attnc;
using namespace attnc::cli;

static constexpr llvm::StringLiteral kOverview =
    "attnc compiles attention: a short spec of a variant becomes PTX or cubins for every GPU, or a "
    "program for this CPU.\n\n"
    "  attnc compile examples/llama3-8b-prefill.yaml --target sm_90a          # PTX on stdout\n"
    "  attnc compile SPEC --target all --emit=package -o out/                 # to ship\n"
    "  attnc run SPEC                                                         # run it, checked\n"
    "  attnc check SPEC --target all                                          # what works where\n"
    "\n"
    "Artefacts go to stdout or files, everything else to stderr. Exit codes: 0 ok, 1 compile\n"
    "failed, 2 bad usage or spec, 3 valid but unsupported on the target, 4 numbers wrong,\n"
    "5 environment, 6 out of memory, 70 a bug of attnc.\n";

int main(int argc, char **argv) {
  installCrashReport();
  checkStdoutAtExit();
  preferProjectAssembler(argv[0]);
  llvm::cl::HideUnrelatedOptions(llvm::ArrayRef<const llvm::cl::OptionCategory *>());
  llvm::cl::SetVersionPrinter(printVersion);
  if (int code = checkCommandLine({argv + std::min(argc, 1), argv + argc}))
    return code;
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return kExitBadUsage;

  struct Entry {
    llvm::cl::SubCommand &verb;
    int (*run)();
  };
  const Entry entries[] = {{compileVerb(), compileMain}, {runVerb(), runMain},
                           {checkVerb(), checkMain},     {explainVerb(), explainMain},
                           {matrixVerb(), matrixMain},   {envVerb(), envMain},
                           {specVerb(), specMain}};
  for (const Entry &entry : entries)
    if (entry.verb)
      return checkConfig(configOverrides) ? kExitBadUsage : entry.run();
  return kExitOk; // --help and --version.
}
