// attnc compile and attnc explain.
#include "CommonOptions.h"
#include "CompileTarget.h"
#include "Explain.h"
#include "Messages.h"
#include "Output.h"
#include "PackageBuilder.h"
#include "TargetSelection.h"
#include "Tuning.h"
#include "Verbs.h"

#include "attnc/Support/ExitCodes.h"
#include "attnc/Support/NearestName.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attnc::cli {

static cl::opt<std::string> outputPath(
    "o", cl::value_desc("F"),
    cl::desc("Output file, or a directory for several targets; '-' is stdout. Without it, text for "
             "one target goes to stdout and the rest to NAME.TARGET.EXT here"),
    cl::sub(compileVerb()));
static cl::opt<std::string> emitName(
    "emit", cl::value_desc("LEVEL"),
    cl::desc("attn, tile, nvvm, llvm, ptx, cubin or package, on the host attn, tile, llvm or object; "
             "by default what -o's extension says, else ptx, on the host alone llvm"),
    cl::sub(compileVerb()));
static cl::opt<std::string> stopAfter("stop-after", cl::value_desc("PASS"),
                                      cl::desc("Print the IR after this pass and stop"),
                                      cl::sub(compileVerb()));
static cl::opt<std::string> saveTemps("save-temps", cl::value_desc("DIR"),
                                      cl::desc("Keep the IR after every pass, LLVM IR, PTX and cubin "
                                               "below DIR"),
                                      cl::sub(compileVerb()));
static cl::opt<bool> timing("timing", cl::desc("Print where the time went"), cl::sub(compileVerb()));
static cl::opt<std::string> explainFormat("explain", cl::ValueOptional, cl::value_desc("json"),
                                          cl::desc("Print the choices made, on stderr"),
                                          cl::init("no"), cl::sub(compileVerb()));

namespace {
enum class Emit { Attn, Tile, Nvvm, Llvm, Ptx, Cubin, Package, Object };
} // namespace

static const char *extensionOf(Emit emit) {
  switch (emit) {
  case Emit::Attn:
    return "attn.mlir";
  case Emit::Tile:
    return "tile.mlir";
  case Emit::Nvvm:
    return "nvvm.mlir";
  case Emit::Llvm:
    return "ll";
  case Emit::Ptx:
    return "ptx";
  case Emit::Cubin:
    return "cubin";
  case Emit::Package:
    return "attnpkg";
  case Emit::Object:
    return "o";
  }
  llvm_unreachable("all levels are listed");
}

/// What to emit, from --emit, else the extension of -o, else the targets.
static std::optional<Emit> chooseEmit(ArrayRef<const TargetInfo *> targets) {
  std::string name = emitName;
  if (name.empty())
    name = StringSwitch<std::string>(sys::path::extension(outputPath))
               .Case(".ll", "llvm")
               .Case(".mlir", "tile")
               .Case(".cubin", "cubin")
               .Case(".attnpkg", "package")
               .Case(".o", "object")
               .Case(".ptx", "ptx")
               .Default(all_of(targets, [](const TargetInfo *target) { return target->isHost; })
                            ? "llvm"
                            : "ptx");
  std::optional<Emit> emit = StringSwitch<std::optional<Emit>>(name)
                                 .Case("attn", Emit::Attn)
                                 .Case("tile", Emit::Tile)
                                 .Case("nvvm", Emit::Nvvm)
                                 .Case("llvm", Emit::Llvm)
                                 .Case("ptx", Emit::Ptx)
                                 .Case("cubin", Emit::Cubin)
                                 .Case("package", Emit::Package)
                                 .Case("object", Emit::Object)
                                 .Default(std::nullopt);
  if (!emit)
    error("unknown --emit '" + name + "'" +
          didYouMean(name, {"attn", "tile", "nvvm", "llvm", "ptx", "cubin", "package", "object"}) +
          "; known are attn, tile, nvvm, llvm, ptx, cubin, package, object");
  return emit;
}

static bool hasArtefact(const TargetInfo &target, Emit emit) {
  return !stopAfter.empty() || emit == Emit::Attn || emit == Emit::Tile || emit == Emit::Llvm ||
         target.isHost == (emit == Emit::Object);
}

static int refuseArtefact(const TargetInfo &target, Emit emit) {
  if (!target.isHost)
    error(target.name + " has no object file; its code is --emit=ptx, cubin or package, and what leads "
                        "there attn, tile, nvvm or llvm");
  else
    error(StringRef("host has no ") + extensionOf(emit) +
          ": it takes --emit=attn, tile, llvm or object; attnc run --target host compiles and runs it");
  return kExitUnsupported;
}

static CompileLevel levelOf(Emit emit, const TargetInfo &target) {
  switch (emit) {
  case Emit::Attn:
    return CompileLevel::Attn;
  case Emit::Tile:
    return CompileLevel::Tile;
  default:
    break;
  }
  return emit == Emit::Nvvm   ? CompileLevel::Nvvm
         : emit == Emit::Llvm ? CompileLevel::Llvm
                              : CompileLevel::Ptx;
}

/// The targets asked for; without --target the GPU here, else sm_90a, which a note says.
static int defaultTargets(std::vector<const TargetInfo *> &targets) {
  if (!targetNames.empty())
    return selectTargets(std::vector<std::string>(targetNames), targets);
  std::string reason;
  const TargetInfo *target = nativeTarget(reason);
  if (!target) {
    target = lookupTarget("sm_90a");
    note("compiling for sm_90a, since no GPU is here to go by; --target names others");
  }
  targets.push_back(target);
  return kExitOk;
}

static int checkStopAfter(ArrayRef<const TargetInfo *> targets) {
  for (const TargetInfo *target : targets) {
    std::vector<std::string> names = stepNames(*target);
    if (is_contained(names, stopAfter))
      continue;
    std::vector<StringRef> known(names.begin(), names.end());
    error("no pass '" + stopAfter + "' on the way to " + target->name +
          didYouMean(stopAfter, known) + "; in order: " + join(names, ", "));
    return kExitBadUsage;
  }
  return kExitOk;
}

/// The artefact of one finished target; empty with `code` set when there is none.
static std::string artefactOf(const Input &input, const TargetInfo &target, Emit emit,
                              const TargetResult &result, int &code) {
  const CompileResult &compiled = result.compiled;
  if (!stopAfter.empty() || emit <= Emit::Nvvm) {
    std::string text;
    raw_string_ostream stream(text);
    compiled.module.get()->print(stream);
    return text + "\n";
  }
  switch (emit) {
  case Emit::Llvm:
    return target.isHost ? result.hostCode : compiled.llvmIR;
  case Emit::Ptx:
    return compiled.ptx;
  case Emit::Cubin:
    return result.assembled->cubin;
  case Emit::Object:
    return result.hostCode;
  default:
    break;
  }
  rt::Result<rt::Package> package = buildPackage(input.spec, target, result);
  rt::Result<std::string> bytes =
      package.ok() ? rt::serializePackage(*package) : rt::Result<std::string>(package.status());
  if (!bytes.ok()) {
    code = report(bytes.status());
    return {};
  }
  return std::move(*bytes);
}

static int saveIntermediates(const std::string &directory, const TargetResult &result) {
  const CompileResult &compiled = result.compiled;
  if (!compiled.llvmIR.empty())
    if (int code = writeFile(directory + "/kernel.ll", compiled.llvmIR))
      return code;
  if (!compiled.ptx.empty())
    if (int code = writeFile(directory + "/kernel.ptx", compiled.ptx))
      return code;
  if (result.assembled)
    return writeFile(directory + "/kernel.cubin", result.assembled->cubin);
  return kExitOk;
}

static int compileOne(Input &input, const TargetInfo &target, Emit emit, bool severalTargets,
                      Output &output, mlir::TimingScope &timingScope) {
  // Among several targets the host is still compiled, so that --target all says whether it works.
  bool artefact = hasArtefact(target, emit);
  if (!artefact && !(target.isHost && severalTargets))
    return refuseArtefact(target, emit);
  bool hostCode = target.isHost && stopAfter.empty() && emit > Emit::Tile;
  mlir::TimingScope scope = timingScope.nest(target.name);
  CompileOptions options;
  options.target = &target;
  options.level = levelOf(emit, target);
  options.stopAfter = hostCode ? lastTilePass(target) : std::string(stopAfter);
  if (!options.stopAfter.empty())
    options.level = target.isHost ? CompileLevel::Program : CompileLevel::Ptx;
  options.remarks = explainFormat != "no";
  options.timing = &scope;
  std::string temps;
  int saveCode = kExitOk;
  if (!saveTemps.empty()) {
    temps = saveTemps + "/" + target.name.str();
    options.afterPass = [&](const std::string &name, StringRef text) {
      if (saveCode == kExitOk)
        saveCode = writeFile(temps + "/" + name + ".mlir", text);
    };
    if (std::error_code failure = sys::fs::create_directories(temps)) {
      error("cannot make the directory '" + temps + "': " + failure.message());
      return kExitEnvironment;
    }
  }
  TargetResult result;
  if (int code = compileTuned(input, options, result))
    return code;
  if (saveCode)
    return saveCode;
  if (hostCode) {
    mlir::TimingScope lowering = scope.nest("host code");
    HostOutput form = emit == Emit::Llvm ? HostOutput::LLVMIR : HostOutput::Object;
    if (int code = emitHostCode(form, result))
      return code;
  }
  bool wantCubin = emit == Emit::Cubin || emit == Emit::Package || explainFormat != "no";
  if (wantCubin && !result.compiled.ptx.empty()) {
    mlir::TimingScope assembling = scope.nest("assembler");
    if (emit == Emit::Cubin || hasOfflineAssembler()) {
      if (int code = assembleTarget(input, target, result))
        return code;
    } else if (emit == Emit::Package) {
      static bool said = false;
      if (!said)
        note("no assembler here: packages hold PTX only, and the driver compiles it when loaded");
      said = true;
    }
  }
  if (!temps.empty())
    if (int code = saveIntermediates(temps, result))
      return code;
  if (explainFormat == "json")
    errs() << formatv("{0:2}", json::Value(explainJson(input, target, result))) << "\n";
  else if (explainFormat != "no")
    printExplanation(errs(), input, target, result);
  if (!artefact) {
    note(StringRef("host: compiled, but it has no ") + extensionOf(emit) +
         "; --target host --emit=llvm or object writes its code");
    return kExitOk;
  }
  int code = kExitOk;
  std::string bytes = artefactOf(input, target, emit, result, code);
  if (code)
    return code;
  return output.write(target.name, stopAfter.empty() ? extensionOf(emit) : stopAfter + ".mlir", bytes);
}

/// Keeps the more serious of two exit codes: a crash or failed compile over an unsupported target.
static int worse(int a, int b) {
  auto rank = [](int code) {
    static constexpr int order[] = {kExitOk, kExitUnsupported, kExitBadUsage, kExitEnvironment,
                                    kExitCompileFailed, kExitInternal};
    return std::find(std::begin(order), std::end(order), code) - std::begin(order);
  };
  return rank(a) >= rank(b) ? a : b;
}

int compileMain() {
  if (explainFormat != "no" && explainFormat != "json" && !explainFormat.empty()) {
    error("unknown --explain '" + explainFormat + "'; it takes nothing or json");
    return kExitBadUsage;
  }
  std::vector<const TargetInfo *> targets;
  if (int code = defaultTargets(targets))
    return code;
  std::optional<Emit> emit = chooseEmit(targets);
  if (!emit)
    return kExitBadUsage;
  if (!stopAfter.empty())
    if (int code = checkStopAfter(targets))
      return code;
  mlir::DefaultTimingManager timingManager;
  timingManager.setEnabled(timing);
  timingManager.setDisplayMode(mlir::DefaultTimingManager::DisplayMode::Tree);
  mlir::TimingScope root = timingManager.getRootScope();

  Input input;
  {
    mlir::TimingScope scope = root.nest("spec");
    if (int code = input.load(specPath))
      return code;
  }
  bool binary = stopAfter.empty() && (*emit == Emit::Cubin || *emit == Emit::Package || *emit == Emit::Object);
  Output output(outputPath, input.spec.name, targets.size() > 1, binary);
  if (int code = output.prepare())
    return code;
  int worst = kExitOk;
  Progress progress(targets.size());
  for (const TargetInfo *target : targets) {
    progress.step("compiling " + input.spec.name + " for " + target->name);
    worst = worse(worst, compileOne(input, *target, *emit, targets.size() > 1, output, root));
  }
  return worst;
}

int explainMain() {
  std::vector<const TargetInfo *> targets;
  if (int code = defaultTargets(targets))
    return code;
  Input input;
  if (int code = input.load(specPath))
    return code;
  int worst = kExitOk;
  json::Array all;
  for (const TargetInfo *target : targets) {
    CompileOptions options;
    options.target = target;
      options.level = target->isHost ? CompileLevel::Program : CompileLevel::Ptx;
    options.remarks = true;
    TargetResult result;
    int code = compileTuned(input, options, result);
    if (code == kExitOk && !target->isHost && hasOfflineAssembler())
      code = assembleTarget(input, *target, result);
    worst = worse(worst, code);
    if (code)
      continue;
    if (asJson)
      all.push_back(explainJson(input, *target, result));
    else
      printExplanation(outs(), input, *target, result);
  }
  if (asJson)
    outs() << formatv("{0:2}", json::Value(std::move(all))) << "\n";
  return worst;
}

} // namespace attnc::cli
