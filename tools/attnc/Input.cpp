// Loading specs and modules.
#include "Input.h"

#include "Messages.h"

#include "attnc/Pipelines/Compile.h"
#include "attnc/Support/ExitCodes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace attnc::cli {

/// Longest MLIR input; a function of attention is a few KiB.
static constexpr uint64_t kMaxModuleBytes = 16 << 20;

Input::Input() : context(MLIRContext::Threading::DISABLED) {
  loadCompilerDialects(context);
  handler = std::make_unique<SourceMgrDiagnosticHandler>(sources, &context, llvm::errs());
  // Handlers are asked from the last registered to the first; this one only makes room.
  context.getDiagEngine().registerHandler([](Diagnostic &) {
    clearProgressLine();
    return failure();
  });
}

int Input::build() {
  module = buildModule(spec, &context);
  return module ? kExitOk : kExitBadUsage;
}

static int loadModule(Input &input) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input.path, /*IsText=*/true);
  if (!buffer) {
    error("cannot read '" + input.path + "': " + buffer.getError().message());
    return kExitBadUsage;
  }
  if ((*buffer)->getBufferSize() > kMaxModuleBytes) {
    error("'" + input.path + "' has " + llvm::Twine((*buffer)->getBufferSize()) +
          " bytes; attention in MLIR takes at most " + llvm::Twine(kMaxModuleBytes));
    return kExitBadUsage;
  }
  input.sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  input.module = parseSourceFile<ModuleOp>(input.sources, ParserConfig(&input.context));
  if (!input.module)
    return kExitBadUsage;
  std::optional<Spec> spec = specFromModule(*input.module);
  if (!spec)
    return kExitBadUsage;
  input.spec = std::move(*spec);
  return kExitOk;
}

int Input::load(llvm::StringRef name) {
  path = name.str();
  if (name != "-" && !llvm::sys::fs::exists(name)) {
    error("no such file: '" + path + "'");
    return kExitBadUsage;
  }
  if (name.ends_with(".mlir") || name.ends_with(".mlirbc"))
    return loadModule(*this);
  std::optional<Spec> parsed = parseSpecFile(path, sources);
  if (!parsed)
    return kExitBadUsage;
  spec = std::move(*parsed);
  return build();
}

int Input::loadText(llvm::StringRef text, llvm::StringRef name) {
  path = name.str();
  std::optional<Spec> parsed = parseSpecText(text, name, sources);
  if (!parsed)
    return kExitBadUsage;
  spec = std::move(*parsed);
  return build();
}

} // namespace attnc::cli
