// Making a plan: everything that can be decided before there are tensors.
#include "attnc/Runtime/Plan.h"

#include "CheckedMath.h"
#include "PlanState.h"
#include "SizeRules.h"
#include "StatusFormat.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnc::rt {
namespace {

constexpr std::int64_t workspaceAlign = 256;
// CUDA's limit for the first dimension of a grid.
constexpr std::int64_t maxGrid = std::numeric_limits<std::int32_t>::max();

template <typename T, typename Name>
std::optional<std::size_t> indexOf(const std::vector<T> &items, const std::string &name,
                                   Name nameOf) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (nameOf(items[i]) == name)
      return i;
  return std::nullopt;
}

/// Value of an integer parameter that the sizes determine.
std::optional<std::int64_t> fixedScalar(const std::string &name, const ProblemDesc &problem,
                                        const ProblemSizes &sizes) {
  const struct {
    const char *name;
    std::int64_t value;
  } table[] = {{"batch", sizes.batch},
               {"len_q", sizes.maxLenQ},
               {"len_kv", sizes.maxLenKv},
               {"max_len_q", sizes.maxLenQ},
               {"max_len_kv", sizes.maxLenKv},
               {"heads_q", problem.headsQ},
               {"heads_kv", problem.headsKv},
               {"splits", sizes.splits},
               {"total_q", sizes.totalQ},
               {"total_kv", sizes.totalKv},
               {"pages", sizes.pages},
               {"max_pages", sizes.maxPages},
               {"page_size", problem.pageSize.value_or(0)}};
  for (const auto &entry : table)
    if (name == entry.name)
      return entry.value;
  return std::nullopt;
}

} // namespace

/// Fills a Plan::State step by step.
class PlanBuilder {
public:
  PlanBuilder(std::shared_ptr<const Package> package, std::shared_ptr<Launcher> launcher)
      : state(std::make_unique<Plan::State>()) {
    state->package = std::move(package);
    state->launcher = std::move(launcher);
  }

  Status build(const ProblemSizes &sizes) {
    if (Status status = resolveSizes(sizes); !status.ok())
      return status;
    symbols = symbolsOf(*state->package, state->sizes,
                        state->launcher ? state->launcher->multiprocessors() : 0);
    if (Status status = layOutWorkspace(); !status.ok())
      return status;
    for (const KernelDesc &kernel : state->package->kernels)
      if (Status status = addKernel(kernel); !status.ok())
        return status.withContext("kernel " + kernel.entry);
    return {};
  }

  std::unique_ptr<Plan::State> take() { return std::move(state); }

private:
  Status resolveSizes(const ProblemSizes &requested) {
    const Package &package = *state->package;
    ProblemSizes sizes = requested;
    const bool choose = sizes.splits == 0;
    if (choose)
      sizes.splits = 1;
    if (Status status = checkSizes(package, sizes); !status.ok())
      return status;
    Result<ProblemSizes> complete = completeSizes(package, std::move(sizes));
    if (!complete)
      return complete.status();
    state->sizes = std::move(*complete);
    if (choose) {
      const int multiprocessors = state->launcher ? state->launcher->multiprocessors() : 0;
      Result<std::int64_t> splits = chooseSplits(package, state->sizes, multiprocessors);
      if (!splits)
        return splits.status();
      state->sizes.splits = *splits;
    }
    state->empty = state->sizes.batch == 0 || state->sizes.maxLenQ == 0 || state->sizes.totalQ == 0;
    return {};
  }

  Status layOutWorkspace() {
    std::optional<std::int64_t> offset = 0;
    for (const WorkspaceDesc &item : state->package->workspace) {
      PlannedWorkspace planned;
      planned.offset = std::uint64_t(*offset);
      planned.rank = int(item.shape.size());
      std::optional<std::int64_t> elements = 1;
      for (int d = planned.rank - 1; d >= 0; --d) {
        Result<std::int64_t> size = item.shape[std::size_t(d)].evaluate(symbols);
        if (!size)
          return size.status().withContext("workspace " + item.name);
        if (*size < 0)
          return invalidArgument("workspace {}: dimension {} is {}", item.name, d, *size);
        planned.strides[std::size_t(d)] = *elements;
        elements = checkedMul(*elements, *size);
        if (!elements)
          return tooLarge(item.name);
      }
      std::optional<std::int64_t> end = checkedMul(*elements, byteSize(item.dtype));
      end = end ? checkedAdd(*end, *offset) : std::nullopt;
      end = end ? checkedAdd(*end, workspaceAlign - 1) : std::nullopt;
      if (!end)
        return tooLarge(item.name);
      offset = *end / workspaceAlign * workspaceAlign;
      state->workspaces.push_back(planned);
    }
    // An empty problem launches nothing, so it needs no memory either.
    state->workspaceBytes = state->empty ? 0 : std::uint64_t(*offset);
    return {};
  }

  static Status tooLarge(const std::string &name) {
    return makeError(StatusCode::OutOfMemory, "workspace {} would have more than 2^63 bytes", name);
  }

  Status addKernel(const KernelDesc &desc) {
    PlannedKernel kernel;
    Result<std::int64_t> grid = desc.grid.evaluate(symbols);
    if (!grid)
      return grid.status();
    if (*grid < 0 || *grid > maxGrid)
      return unsupported("the grid has {} blocks; CUDA allows 0 to {}", *grid, maxGrid);
    kernel.grid = *grid;
    kernel.block = desc.block;
    kernel.sharedBytes = desc.sharedBytes;
    for (const ParamDesc &param : desc.params) {
      ParamSource source;
      source.kind = param.kind;
      source.unitInner = param.unitInner;
      Status status = param.kind == ParamKind::Tensor      ? addTensor(param, source)
                      : param.kind == ParamKind::TensorMap ? addTensorMap(param, source)
                                                           : addScalar(param, source);
      if (!status.ok())
        return status;
      kernel.params.push_back(source);
    }
    state->kernels.push_back(std::move(kernel));
    return {};
  }

  Status addTensor(const ParamDesc &param, ParamSource &source) {
    const auto &workspaces = state->package->workspace;
    if (auto index =
            indexOf(workspaces, param.name, [](const WorkspaceDesc &item) { return item.name; })) {
      const WorkspaceDesc &item = workspaces[*index];
      if (item.shape.size() != std::size_t(param.rank) || item.dtype != param.dtype)
        return invalidArgument("package: parameter '{}' is {} of rank {}, its workspace {} of rank "
                               "{}",
                               param.name, dataTypeName(param.dtype), param.rank,
                               dataTypeName(item.dtype), item.shape.size());
      source.from = ParamSource::From::Workspace;
      source.index = *index;
      return {};
    }
    Result<TensorRule> rule = makeTensorRule(param, state->package->problem, state->sizes, symbols);
    if (!rule)
      return rule.status();
    source.from = ParamSource::From::UserTensor;
    if (auto index = indexOf(state->tensorRules, param.name,
                             [](const TensorRule &item) { return item.name; })) {
      TensorRule &known = state->tensorRules[*index];
      if (known.dtype != rule->dtype || known.rank != rule->rank)
        return invalidArgument("package: tensor '{}' has two types among the kernels", param.name);
      known.unitInner |= rule->unitInner;
      known.align = std::max(known.align, rule->align);
      source.index = *index;
      return {};
    }
    if (state->tensorRules.size() == maxBoundTensors)
      return unsupported("package: more than {} tensors", maxBoundTensors);
    TensorRequirement requirement{param.name, param.dtype, {}, rule->output};
    for (int d = 0; d < rule->rank; ++d) {
      const DimensionRule &dimension = rule->dimensions[std::size_t(d)];
      requirement.shape.push_back(dimension.kind == DimensionRule::Kind::Any ? -1 : dimension.size);
    }
    source.index = state->tensorRules.size();
    state->requirements.push_back(std::move(requirement));
    state->tensorRules.push_back(std::move(*rule));
    return {};
  }

  Status addTensorMap(const ParamDesc &param, ParamSource &source) {
    // The engine reads 16 bytes at a time, whatever the tensor is for.
    ParamDesc aligned = param;
    aligned.align = std::max(param.align, 16);
    if (Status status = addTensor(aligned, source); !status.ok())
      return status;
    if (source.from != ParamSource::From::UserTensor)
      return unsupported("package: tensor map '{}' describes a workspace; maps describe the "
                         "caller's tensors",
                         param.name);
    source.from = ParamSource::From::TensorMap;
    source.map.swizzle = param.swizzle;
    std::copy(param.box.begin(), param.box.end(), source.map.box.begin());
    if (!state->maps)
      state->maps = std::make_unique<TensorMapCache>();
    return {};
  }

  Status addScalar(const ParamDesc &param, ParamSource &source) {
    if (param.name == "scale" && param.kind == ParamKind::F32) {
      source.from = ParamSource::From::Scale;
      source.fixedReal = float(1.0 / std::sqrt(double(state->package->problem.dimQk)));
      return {};
    }
    if (param.name.rfind("arg.", 0) == 0) {
      source.from = ParamSource::From::UserScalar;
      auto index =
          indexOf(state->scalarNames, param.name, [](const std::string &item) { return item; });
      if (!index) {
        if (state->scalarNames.size() == maxBoundScalars)
          return unsupported("package: more than {} scalars", maxBoundScalars);
        index = state->scalarNames.size();
        state->scalarNames.push_back(param.name);
        state->scalars.emplace_back();
      }
      source.index = *index;
      state->scalars[*index].feedsI32 |= param.kind == ParamKind::I32;
      state->scalars[*index].feedsI64 |= param.kind == ParamKind::I64;
      return {};
    }
    const std::optional<std::int64_t> value =
        param.kind == ParamKind::F32
            ? std::nullopt
            : fixedScalar(param.name, state->package->problem, state->sizes);
    if (!value)
      return unsupported(
          "package: scalar parameter '{}' is not known to this runtime; it knows "
          "batch, len_q, len_kv, max_len_q, max_len_kv, heads_q, heads_kv, splits, "
          "total_q, total_kv, pages, max_pages, page_size (integers), scale (f32) and "
          "arg.NAME",
          param.name);
    source.fixed = *value; // checkSizes and the package's check keep every one within 32 bits.
    return {};
  }

  std::unique_ptr<Plan::State> state;
  SymbolTable symbols;
};

Plan::Plan(std::unique_ptr<State> state) : state(std::move(state)) {}
Plan::Plan(Plan &&) noexcept = default;
Plan &Plan::operator=(Plan &&) noexcept = default;
Plan::~Plan() = default;

Result<Plan> Plan::create(std::shared_ptr<const Package> package,
                          std::shared_ptr<Launcher> launcher, const ProblemSizes &sizes) {
  if (!package)
    return invalidArgument("a plan needs a package");
  if (Status status = package->validate(); !status.ok())
    return status.withContext("package");
  PlanBuilder builder(std::move(package), std::move(launcher));
  if (Status status = builder.build(sizes); !status.ok())
    return status;
  return Plan(builder.take());
}

std::uint64_t Plan::workspaceBytes() const { return state->workspaceBytes; }
std::int64_t Plan::splits() const { return state->sizes.splits; }
const std::vector<TensorRequirement> &Plan::tensors() const { return state->requirements; }
const std::vector<std::string> &Plan::scalars() const { return state->scalarNames; }
std::int64_t Plan::grid(std::size_t index) const { return state->kernels[index].grid; }

} // namespace attnc::rt
