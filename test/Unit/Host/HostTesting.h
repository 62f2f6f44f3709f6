// Helpers of the host tests: compiling tile programs from text, filling tensors.
#ifndef ATTNC_TEST_UNIT_HOST_HOSTTESTING_H
#define ATTNC_TEST_UNIT_HOST_HOSTTESTING_H

#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Host/HostKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace attnc::testing {

/// Replaces every `$NAME` of `text` by its value.
inline std::string substitute(std::string text, const std::map<std::string, std::string> &values) {
  // Longer names first, so that $NP is not read as $N followed by P.
  for (auto it = values.rbegin(); it != values.rend(); ++it)
    for (size_t at; (at = text.find("$" + it->first)) != std::string::npos;)
      text.replace(at, it->first.size() + 1, it->second);
  return text;
}

/// Compiles a module of tile kernels; null (and a test failure) if it does not compile. The
/// diagnostic goes to `error` instead where that is given.
inline std::unique_ptr<HostProgram> compileText(const std::string &text,
                                                std::string *error = nullptr) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  mlir::MLIRContext context(registry);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << diagnostics;
    return nullptr;
  }
  auto program = HostProgram::compile(*module);
  if (error)
    *error = diagnostics;
  else if (mlir::failed(program))
    ADD_FAILURE() << diagnostics;
  return mlir::failed(program) ? nullptr : std::move(*program);
}

inline void forEachIndex(const std::vector<int64_t> &shape,
                         const std::function<void(const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  while (true) {
    visit(index);
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

inline void fillRandom(HostTensor &tensor, unsigned seed, double scale = 1.0) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0.0, scale);
  forEachIndex(tensor.shape, [&](const std::vector<int64_t> &i) { tensor.set(i, normal(generator)); });
}

inline void fillNaN(HostTensor &tensor) {
  std::fill(tensor.storage->begin(), tensor.storage->end(), uint8_t(0xFF));
}

/// Puts 64 guard bytes behind the tensor's storage; guardHolds says whether they are unchanged.
inline void addGuard(HostTensor &tensor) {
  tensor.storage->insert(tensor.storage->end(), 64, uint8_t(0xA5));
}
inline bool guardHolds(const HostTensor &tensor) {
  return std::all_of(tensor.storage->end() - 64, tensor.storage->end(),
                     [](uint8_t byte) { return byte == 0xA5; });
}

} // namespace attnc::testing

#endif // ATTNC_TEST_UNIT_HOST_HOSTTESTING_H
