// Tile kernels → optimised LLVM module for this machine, and its text or object form.
#include "HostModule.h"

#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Host/HostCodegen.h"
#include "attnc/Host/Passes.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;

namespace attnc {

/// The entry point of a kernel: unpacks an array of pointers into the C interface's arguments, of
/// which the last is the program id.
static void addEntry(llvm::Module &module, llvm::Function &function, llvm::StringRef kernel) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto *type = llvm::FunctionType::get(builder.getVoidTy(),
                                       {builder.getPtrTy(), builder.getInt32Ty()}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       kHostEntryPrefix + kernel, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0, e = function.arg_size() - 1; i < e; ++i) {
    llvm::Value *slot = builder.CreateConstGEP1_64(builder.getPtrTy(), entry->getArg(0), i);
    llvm::Value *pointer = builder.CreateLoad(builder.getPtrTy(), slot);
    llvm::Type *argument = function.getArg(i)->getType();
    arguments.push_back(argument->isPointerTy() ? pointer : builder.CreateLoad(argument, pointer));
  }
  arguments.push_back(entry->getArg(1));
  builder.CreateCall(&function, arguments);
  builder.CreateRetVoid();
}

static bool hasFeature(const llvm::TargetMachine &machine, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> features;
  machine.getTargetFeatureString().split(features, ',');
  return llvm::is_contained(features, ("+" + name).str());
}

/// Vectors and register block by what the machine has: 32 registers of 16 lanes with AVX-512, 16
/// of 8 with AVX, 32 of 4 on AArch64, else 16 of 4.
static void fitToMachine(const llvm::TargetMachine &machine, TileToHostLLVMOptions &options) {
  if (hasFeature(machine, "avx512f")) {
    options.lanes = 16, options.rows = 8, options.columns = 2;
  } else if (hasFeature(machine, "avx")) {
    options.lanes = 8, options.rows = 4, options.columns = 2;
  } else {
    bool manyRegisters = machine.getTargetTriple().isAArch64();
    options.lanes = 4, options.rows = manyRegisters ? 4 : 2, options.columns = 4;
  }
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (hasFeature(machine, "avx512f")) {
      // The vectors written are 512 bits wide; without this they would be split on CPUs whose
      // tuning prefers 256.
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    }
    if (!function.isDeclaration() && !function.getName().starts_with(kHostEntryPrefix))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

FailureOr<llvm::orc::JITTargetMachineBuilder> detectHost(ModuleOp module) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return module.emitError("host: cannot tell this machine's CPU: ")
           << llvm::toString(builder.takeError());
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return std::move(*builder);
}

FailureOr<HostModule> buildHostModule(ModuleOp module) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerAllDialectInterfaceImplementations(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);

  auto builder = detectHost(module);
  if (failed(builder))
    return failure();
  auto machine = builder->createTargetMachine();
  if (!machine)
    return module.emitError("host: LLVM has no code generator for this machine: ")
           << llvm::toString(machine.takeError());

  SmallVector<std::string> kernels;
  for (auto kernel : module.getOps<tile::KernelOp>())
    kernels.push_back(kernel.getSymName().str());

  PassManager manager(context);
  TileToHostLLVMOptions options;
  fitToMachine(**machine, options);
  buildTileToHostLLVMPipeline(manager, options);
  if (failed(manager.run(module)))
    return failure();

  HostModule result;
  result.machine = std::move(*machine);
  result.context = std::make_unique<llvm::LLVMContext>();
  result.module = translateModuleToLLVMIR(module, *result.context, "attnc_host");
  if (!result.module)
    return module.emitError("host: the lowered module cannot be translated to LLVM IR");
  result.module->setTargetTriple(result.machine->getTargetTriple());
  result.module->setDataLayout(result.machine->createDataLayout());
  for (const std::string &kernel : kernels) {
    llvm::Function *function = result.module->getFunction("_mlir_ciface_" + kernel);
    assert(function && "convert-tile-to-linalg asks for the C interface");
    addEntry(*result.module, *function, kernel);
  }
  optimise(*result.module, *result.machine);
  return std::move(result);
}

FailureOr<std::string> emitHost(ModuleOp module, HostOutput output) {
  Location loc = module.getLoc();
  FailureOr<HostModule> host = buildHostModule(module);
  if (failed(host))
    return failure();
  std::string text;
  if (output == HostOutput::LLVMIR) {
    llvm::raw_string_ostream stream(text);
    host->module->print(stream, nullptr);
    return text;
  }
  llvm::SmallString<0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  auto kind = output == HostOutput::Object ? llvm::CodeGenFileType::ObjectFile
                                           : llvm::CodeGenFileType::AssemblyFile;
  if (host->machine->addPassesToEmitFile(passes, stream, nullptr, kind))
    return emitError(loc, "host: LLVM cannot write this file type for this machine");
  passes.run(*host->module);
  return buffer.str().str();
}

} // namespace attnc
