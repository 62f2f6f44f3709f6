// Runs the phases for one target.
#include "attnc/Pipelines/Compile.h"

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Pipelines/Pipelines.h"
#include "attnc/Target/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc {

void loadCompilerDialects(MLIRContext &context) {
  context.loadDialect<attn::AttnDialect, tile::TileDialect, arith::ArithDialect,
                      cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                      NVVM::NVVMDialect, math::MathDialect, memref::MemRefDialect,
                      scf::SCFDialect, tensor::TensorDialect>();
}

namespace {

/// Copies remarks into the result; the engine owns it, the result outlives the engine.
class RemarkCollector final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkCollector(std::vector<CompileRemark> &sink) : sink(sink) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string message;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      message += arg.val;
    sink.push_back({kindOf(remark.getRemarkType()), remark.getRemarkName().str(), message});
  }

private:
  static const char *kindOf(llvm::remarks::Type type) {
    switch (type) {
    case llvm::remarks::Type::Passed:
      return "passed";
    case llvm::remarks::Type::Missed:
      return "missed";
    case llvm::remarks::Type::Failure:
      return "failed";
    default:
      return "analysis";
    }
  }

  std::vector<CompileRemark> &sink;
};

/// The remark engine for one compilation.
class RemarkScope {
public:
  RemarkScope(MLIRContext &context, bool enabled, std::vector<CompileRemark> &sink)
      : context(context), enabled(enabled) {
    if (!enabled)
      return;
    remark::RemarkCategories all;
    all.passed = all.missed = all.analysis = all.failed = ".*";
    (void)remark::enableOptimizationRemarks(context, std::make_unique<RemarkCollector>(sink),
                                            std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                            all);
  }
  ~RemarkScope() {
    if (enabled)
      context.setRemarkEngine(nullptr);
  }

private:
  MLIRContext &context;
  bool enabled;
};

/// Hands the module on after every pass that changed it. MLIR's own printing to files ends the
/// process when the disk is full.
class AfterPassPrinter final : public PassManager::IRPrinterConfig {
public:
  AfterPassPrinter(const decltype(CompileOptions::afterPass) &sink, unsigned &count)
      : IRPrinterConfig(/*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true), sink(sink),
        count(count) {}

  void printAfterIfEnabled(Pass *pass, Operation *, PrintCallbackFn print) override {
    llvm::StringRef name = pass->getArgument().empty() ? pass->getName() : pass->getArgument();
    std::string text;
    llvm::raw_string_ostream stream(text);
    print(stream);
    sink(llvm::formatv("{0,0+2}-{1}", count++, name), text);
  }

private:
  const decltype(CompileOptions::afterPass) &sink;
  unsigned &count;
};

class Compilation {
public:
  Compilation(ModuleOp source, const CompileOptions &options, CompileFailure &failureKind)
      : options(options), target(*options.target), failureKind(failureKind),
        context(*source.getContext()) {
    result.module = cast<ModuleOp>(source->clone());
  }

  FailureOr<CompileResult> run();

private:
  /// Runs the steps, up to `stopAfter`. Sets `stopped` when that was among them.
  LogicalResult runPhase(const char *name, PipelineSteps steps);
  LogicalResult finishGpu();
  void readConfig();
  /// Fills result.program from the tile kernels; false after a diagnostic.
  bool readInterface();

  const CompileOptions &options;
  const TargetInfo &target;
  CompileFailure &failureKind;
  MLIRContext &context;
  CompileResult result;
  /// Of all phases, for afterPass.
  unsigned passesPrinted = 0;
  bool stopped = false;
};

} // namespace

LogicalResult Compilation::runPhase(const char *name, PipelineSteps steps) {
  PassManager manager(&context, ModuleOp::getOperationName());
  for (PipelineStep &step : steps) {
    step.add(manager);
    if (!options.stopAfter.empty() && step.pass == options.stopAfter) {
      stopped = true;
      break;
    }
  }
  TimingScope scope;
  if (options.timing) {
    scope = options.timing->nest(name);
    manager.enableTiming(scope);
  }
  if (options.afterPass)
    manager.enableIRPrinting(std::make_unique<AfterPassPrinter>(options.afterPass, passesPrinted));
  if (options.beforePasses) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    result.module->print(stream, OpPrintingFlags().printGenericOpForm());
    stream << "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: \"";
    manager.printAsTextualPipeline(stream);
    stream << "\",\n      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n";
    options.beforePasses(std::move(text));
  }
  if (succeeded(manager.run(*result.module)))
    return success();
  // The diagnostic is out; all that is left to know is whether the pass refused or broke the IR.
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  if (failed(verify(*result.module)))
    failureKind = CompileFailure::Internal;
  return failure();
}

void Compilation::readConfig() {
  result.module->walk([&](attn::AttentionOpInterface op) {
    attn::ConfigAttr config = op.getConfigAttr();
    if (!config)
      return WalkResult::advance();
    result.config = {{"block_m", config.getBlockM()},
                     {"block_n", config.getBlockN()},
                     {"warps", config.getWarps()},
                     {"stages", config.getStages()},
                     {"pack_gqa", config.getPackGqa()},
                     {"q_in_registers", config.getQInRegisters()},
                     {"split_kv", config.getSplitKv()},
                     {"warp_specialized", config.getWarpSpecialized()},
                     {"persistent", config.getPersistent()}};
    return WalkResult::interrupt();
  });
}

bool Compilation::readInterface() {
  FailureOr<ProgramInterface> program = readProgramInterface(*result.module);
  if (succeeded(program))
    result.program = std::move(*program);
  return succeeded(program);
}

LogicalResult Compilation::finishGpu() {
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  {
    TimingScope scope;
    if (options.timing)
      scope = options.timing->nest("LLVM IR, optimised");
    llvmModule = translateToLLVMIR(*result.module, target, llvmContext);
  }
  if (!llvmModule)
    return failure();
  if (options.level == CompileLevel::Llvm) {
    llvm::raw_string_ostream stream(result.llvmIR);
    llvmModule->print(stream, nullptr);
    return success();
  }
  TimingScope scope;
  if (options.timing)
    scope = options.timing->nest("PTX");
  FailureOr<std::string> ptx = emitPtx(*llvmModule, target, result.module->getLoc());
  if (failed(ptx))
    return failure();
  result.ptx = std::move(*ptx);
  return success();
}

FailureOr<CompileResult> Compilation::run() {
  if (options.level == CompileLevel::Attn && options.stopAfter.empty())
    return std::move(result);
  RemarkScope remarks(context, options.remarks, result.remarks);

  // What the attn phase refuses is a limit of the target or of the schedule; what fails later is
  // ours to have lowered.
  failureKind = CompileFailure::Unsupported;
  PipelineSteps attnSteps = attnPhase({target.name.str(), options.config});
  PipelineSteps configured, tiling;
  for (PipelineStep &step : attnSteps) {
    bool first = tiling.empty() && step.pass != "attn-split-kv";
    (first ? configured : tiling).push_back(std::move(step));
  }
  if (failed(runPhase("1-attn", std::move(configured))))
    return failure();
  readConfig();
  if (stopped)
    return std::move(result);
  if (failed(runPhase("2-attn-to-tile", std::move(tiling))))
    return failure();
  failureKind = CompileFailure::Failed;
  if (stopped)
    return std::move(result);
  if (options.level == CompileLevel::Tile && options.stopAfter.empty())
    return readInterface() ? FailureOr<CompileResult>(std::move(result))
                           : FailureOr<CompileResult>(failure());

  if (failed(runPhase("3-tile", target.isHost ? tileHostPhase() : tileGpuPhase())))
    return failure();
  if (stopped)
    return std::move(result);
  // Only now: the schedule may have changed a kernel's grid, warps and arguments.
  if (!readInterface())
    return failure();
  if (target.isHost) {
    TimingScope scope;
    if (options.timing)
      scope = options.timing->nest("host program");
    FailureOr<std::unique_ptr<HostProgram>> host = HostProgram::compile(*result.module);
    if (failed(host))
      return failure();
    result.host = std::move(*host);
    failureKind = CompileFailure::None;
    return std::move(result);
  }
  if (failed(runPhase("4-tile-to-nvvm", nvvmPhase())))
    return failure();
  if (stopped)
    return std::move(result);
  if (failed(readSharedBytes(*result.module, result.program)))
    return failure();
  if (options.level == CompileLevel::Nvvm)
    return std::move(result);
  if (failed(finishGpu()))
    return failure();
  failureKind = CompileFailure::None;
  return std::move(result);
}

FailureOr<CompileResult> compileModule(ModuleOp module, const CompileOptions &options,
                                       CompileFailure &failureKind) {
  return Compilation(module, options, failureKind).run();
}

std::vector<std::string> stepNames(const TargetInfo &target) {
  std::vector<std::string> names;
  auto append = [&](const PipelineSteps &steps) {
    for (const PipelineStep &step : steps)
      if (!llvm::is_contained(names, step.pass))
        names.push_back(step.pass);
  };
  append(attnPhase({target.name.str(), ""}));
  append(target.isHost ? tileHostPhase() : tileGpuPhase());
  if (!target.isHost)
    append(nvvmPhase());
  return names;
}

} // namespace attnc
