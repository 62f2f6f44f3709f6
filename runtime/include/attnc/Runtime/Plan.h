// A package with concrete sizes: checked once, then run as often as wanted. Plan → workspace size →
// run. Running checks its tensors, builds the kernel parameters and launches; it allocates nothing,
// waits for nothing, and is legal while a stream is being captured.
//
//   Result<Plan> plan = Plan::create(package, launcher, sizes);
//   Buffer workspace = allocate(plan->workspaceBytes());
//   plan->run({{"q", q}, {"k", k}, {"v", v}, {"o", o}}, {}, workspace.address(), size, stream);
//
// Why are sizes fixed in the plan and not taken from the tensors? So that a workspace size exists
// before there are tensors, and so that a captured graph cannot meet a plan it was not made for.
#ifndef ATTNC_RUNTIME_PLAN_H
#define ATTNC_RUNTIME_PLAN_H

#include "attnc/Runtime/Launcher.h"
#include "attnc/Runtime/Package.h"
#include "attnc/Runtime/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

/// The sizes a package leaves open. Lengths are in tokens.
struct ProblemSizes {
  std::int64_t batch = 1;
  std::int64_t maxLenQ = 0;
  /// The longest KV sequence; with kv_lens an upper bound of them (the cache may be larger).
  std::int64_t maxLenKv = 0;
  /// Parts the KV range is split into. 0 lets `Plan::create` choose from the device.
  std::int64_t splits = 0;
  /// Tokens of all sequences; for varlen only.
  std::int64_t totalQ = 0, totalKv = 0;
  /// Pages of the pool, and columns of the block table; for a paged cache only.
  std::int64_t pages = 0, maxPages = 0;
  /// The lengths as the host knows them, for checking before the launch; empty if it does not.
  /// cuSeqlens have batch + 1 entries and begin with 0.
  std::vector<std::int32_t> hostKvLens, hostCuSeqlensQ, hostCuSeqlensKv;
};

/// A tensor a plan wants, or one of its outputs.
struct TensorRequirement {
  std::string name;
  DataType dtype = DataType::F32;
  /// Logical sizes; -1 where any is right.
  std::vector<std::int64_t> shape;
  bool output = false;
};

class Plan {
public:
  /// Checks sizes against the package, evaluates grids and workspace.
  /// \p launcher may be null: then everything but `run` works.
  /// \returns InvalidArgument or Unsupported naming the size and what is allowed.
  static Result<Plan> create(std::shared_ptr<const Package> package,
                             std::shared_ptr<Launcher> launcher, const ProblemSizes &sizes);

  Plan(Plan &&) noexcept;
  Plan &operator=(Plan &&) noexcept;
  ~Plan();

  /// Bytes `run` needs, aligned to 256. May be 0.
  std::uint64_t workspaceBytes() const;

  /// Splits in use: those asked for or those chosen.
  std::int64_t splits() const;

  /// Every tensor to bind, in the order of first use; workspaces are not among them.
  const std::vector<TensorRequirement> &tensors() const;
  /// Every scalar to bind: `arg.NAME`. `scale` may be bound; unbound it is 1/√dim_qk.
  const std::vector<std::string> &scalars() const;

  /// Blocks of kernel number \p index.
  std::int64_t grid(std::size_t index) const;

  /// Launches every kernel in the order of the manifest on \p stream. Nothing is launched unless
  /// every argument is right. Thread-safe. An empty problem (batch, query length or total 0)
  /// succeeds without a launch.
  ///
  /// \p workspace must be 256-byte aligned, have \p workspaceSize ≥ workspaceBytes() bytes, and
  /// stay untouched until the work is done; concurrent runs need one each.
  ///
  /// \returns InvalidArgument naming the tensor or scalar: missing, unknown or bound twice; wrong
  /// dtype, rank or shape; inner stride not 1; base or stride not aligned; an output with a zero
  /// stride; a view that leaves its extent.
  Status run(const TensorBinding *tensors, std::size_t tensorCount, const ScalarBinding *scalars,
             std::size_t scalarCount, std::uint64_t workspace, std::uint64_t workspaceSize,
             void *stream) const;

  Status run(std::initializer_list<TensorBinding> tensors,
             std::initializer_list<ScalarBinding> scalars, std::uint64_t workspace,
             std::uint64_t workspaceSize, void *stream) const {
    return run(tensors.begin(), tensors.size(), scalars.begin(), scalars.size(), workspace,
               workspaceSize, stream);
  }

private:
  friend class PlanBuilder;
  struct State;
  explicit Plan(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_PLAN_H
