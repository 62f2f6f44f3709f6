// Size expressions of the kernel package (grids, workspace shapes), as the host program keeps them.
#ifndef ATTNC_LIB_HOST_SIZEEXPR_H
#define ATTNC_LIB_HOST_SIZEEXPR_H

#include "attnc/Host/HostKernel.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace attnc {

/// An integer, a symbol, or [operator, expression, expression].
struct SizeExpr {
  /// "" for an integer, a symbol's name, or an operator (then there are two operands).
  std::string name;
  int64_t value = 0;
  std::vector<SizeExpr> operands;

  /// From the attribute form; on failure `error` says what was found and what is allowed.
  static bool parse(mlir::Attribute attribute, SizeExpr &result, std::string &error);
  /// In checked 64-bit arithmetic; on failure `error` names the symbol or the operation.
  bool evaluate(const ProblemSizes &sizes, int64_t &result, std::string &error) const;
};

} // namespace attnc

#endif // ATTNC_LIB_HOST_SIZEEXPR_H
