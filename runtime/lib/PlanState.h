// What a plan keeps between creation and its runs. Immutable once made, but for the cache of tensor
// maps, which locks itself.
#ifndef ATTNC_RUNTIME_LIB_PLANSTATE_H
#define ATTNC_RUNTIME_LIB_PLANSTATE_H

#include "TensorMaps.h"
#include "TensorRules.h"
#include "attnc/Runtime/Plan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attnc::rt {

/// Limits of the arrays that a run keeps on its stack.
constexpr std::size_t maxBoundTensors = 64;
constexpr std::size_t maxBoundScalars = 64;

/// Where the value of one manifest parameter comes from.
struct ParamSource {
  enum class From : std::uint8_t {
    UserTensor, ///< `index` into tensorRules.
    TensorMap,  ///< The same, as the map that `map` shapes.
    Workspace,  ///< `index` into workspaces.
    Fixed,      ///< `fixed`, known from the sizes.
    UserScalar, ///< `index` into scalarNames.
    Scale,      ///< The bound scale, else the default in `fixedReal`.
  };
  From from = From::Fixed;
  std::size_t index = 0;
  ParamKind kind = ParamKind::I32;
  bool unitInner = true;
  std::int64_t fixed = 0;
  float fixedReal = 0;
  TensorMapShape map;
};

struct PlannedKernel {
  std::int64_t grid = 0;
  int block = 0;
  std::int64_t sharedBytes = 0;
  std::vector<ParamSource> params;
};

struct PlannedWorkspace {
  std::uint64_t offset = 0;
  int rank = 0;
  std::array<std::int64_t, TensorView::maxRank> strides = {};
};

/// A scalar the caller binds, with the kinds of the parameters it feeds.
struct PlannedScalar {
  bool feedsI32 = false;
  bool feedsI64 = false;
};

struct Plan::State {
  std::shared_ptr<const Package> package;
  std::shared_ptr<Launcher> launcher;
  ProblemSizes sizes;
  /// Nothing to compute: a run succeeds at once.
  bool empty = false;
  std::vector<TensorRule> tensorRules;
  std::vector<TensorRequirement> requirements; ///< Parallel to tensorRules.
  std::vector<std::string> scalarNames;
  std::vector<PlannedScalar> scalars;       ///< Parallel to scalarNames.
  std::vector<PlannedWorkspace> workspaces; ///< Parallel to Package::workspace.
  std::uint64_t workspaceBytes = 0;
  std::vector<PlannedKernel> kernels;
  /// Null where no kernel takes a tensor map.
  std::unique_ptr<TensorMapCache> maps;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_PLANSTATE_H
