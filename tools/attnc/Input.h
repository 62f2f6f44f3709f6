// Reads what the user names as SPEC: a spec in YAML, or MLIR with one attention function.
#ifndef ATTNC_TOOLS_INPUT_H
#define ATTNC_TOOLS_INPUT_H

#include "attnc/Spec/Spec.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>

namespace attnc::cli {

/// A loaded spec and everything it lives in. Diagnostics about it show its source lines.
struct Input {
  Input();
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;

  llvm::SourceMgr sources;
  mlir::MLIRContext context;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  std::string path;
  Spec spec;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// Loads `path` ("-" is stdin). On failure everything has been printed. \returns an exit code.
  int load(llvm::StringRef path);
  /// The same for the text of a spec, called `name` in diagnostics.
  int loadText(llvm::StringRef text, llvm::StringRef name);

private:
  int build();
};

} // namespace attnc::cli

#endif // ATTNC_TOOLS_INPUT_H
