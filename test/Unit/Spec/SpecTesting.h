// Helpers of the spec tests: parsing text while keeping what is printed.
#ifndef ATTNC_TEST_UNIT_SPEC_SPECTESTING_H
#define ATTNC_TEST_UNIT_SPEC_SPECTESTING_H

#include "attnc/Spec/Spec.h"

#include "llvm/Support/SourceMgr.h"

#include <optional>
#include <string>

namespace attnc::testing {

/// Collects diagnostics as "file:line:col: kind: message" lines (columns from 1).
inline void keepDiagnostics(llvm::SourceMgr &sources, std::string &out) {
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *context) {
        auto &text = *static_cast<std::string *>(context);
        const char *kinds[] = {"error", "warning", "remark", "note"};
        text += diagnostic.getFilename().str() + ":" + std::to_string(diagnostic.getLineNo()) +
                ":" + std::to_string(diagnostic.getColumnNo() + 1) + ": " +
                kinds[diagnostic.getKind()] + ": " + diagnostic.getMessage().str() + "\n";
      },
      &out);
}

struct Parsed {
  std::optional<Spec> spec;
  std::string diagnostics;
};

inline Parsed parse(llvm::StringRef text) {
  Parsed result;
  llvm::SourceMgr sources;
  keepDiagnostics(sources, result.diagnostics);
  result.spec = parseSpecText(text, "t.yaml", sources);
  return result;
}

/// The six lines every spec has (so that added text starts on line 7) and then `rest`.
inline std::string prefillWith(const std::string &rest) {
  return "attn: 1\nname: t\nkind: prefill\nheads: {q: 8, kv: 2}\ndim: 64\ndtype: bf16\n" + rest;
}
inline std::string decodeWith(const std::string &rest) {
  return "attn: 1\nname: t\nkind: decode\nheads: {q: 8, kv: 2}\ndim: 64\ndtype: bf16\n" + rest;
}

} // namespace attnc::testing

#endif // ATTNC_TEST_UNIT_SPEC_SPECTESTING_H
