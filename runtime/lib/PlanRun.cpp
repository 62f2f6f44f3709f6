// Running a plan: bind by name, check, build the kernel parameters, launch. No allocation on the
// way to a successful launch.
#include "KernelAbi.h"
#include "PlanState.h"
#include "StatusFormat.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace attnc::rt {
namespace {

constexpr std::string_view scaleName = "scale";

template <typename Items, typename NameOf>
std::string joinNames(const Items &items, NameOf nameOf) {
  std::string text;
  for (const auto &item : items)
    text += (text.empty() ? "" : ", ") + std::string(nameOf(item));
  return text.empty() ? "none" : text;
}

/// The caller's arguments, found and checked.
struct Bindings {
  const TensorView *tensors[maxBoundTensors] = {};
  const ScalarBinding *scalars[maxBoundScalars] = {};
  const ScalarBinding *scale = nullptr;
};

Status bindTensors(const std::vector<TensorRule> &rules, const TensorBinding *bindings,
                   std::size_t count, Bindings &bound) {
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t index = 0;
    while (index < rules.size() && rules[index].name != bindings[i].name)
      ++index;
    if (index == rules.size())
      return invalidArgument("tensor '{}' is not one of this kernel's: {}", bindings[i].name,
                             joinNames(rules, [](const TensorRule &rule) { return rule.name; }));
    if (bound.tensors[index])
      return invalidArgument("tensor '{}' is bound twice", bindings[i].name);
    bound.tensors[index] = &bindings[i].tensor;
  }
  for (std::size_t index = 0; index < rules.size(); ++index) {
    if (!bound.tensors[index])
      return invalidArgument("tensor '{}' is not bound; this kernel needs {}", rules[index].name,
                             joinNames(rules, [](const TensorRule &rule) { return rule.name; }));
    if (Status status = checkTensor(rules[index], *bound.tensors[index]); !status.ok())
      return status;
  }
  return {};
}

Status checkScalar(const PlannedScalar &planned, const ScalarBinding &binding) {
  if ((planned.feedsI32 || planned.feedsI64) && binding.isFloat)
    return invalidArgument("scalar '{}' is {}; this kernel takes an integer", binding.name,
                           binding.real);
  if (planned.feedsI32 && (binding.integer < std::numeric_limits<std::int32_t>::min() ||
                           binding.integer > std::numeric_limits<std::int32_t>::max()))
    return invalidArgument("scalar '{}' is {}; this kernel takes 32 bits", binding.name,
                           binding.integer);
  return {};
}

Status bindScalars(const std::vector<std::string> &names, const std::vector<PlannedScalar> &planned,
                   bool takesScale, const ScalarBinding *bindings, std::size_t count,
                   Bindings &bound) {
  for (std::size_t i = 0; i < count; ++i) {
    const ScalarBinding &binding = bindings[i];
    const ScalarBinding **place = nullptr;
    if (takesScale && binding.name == scaleName)
      place = &bound.scale;
    for (std::size_t index = 0; index < names.size() && !place; ++index)
      if (names[index] == binding.name)
        place = &bound.scalars[index];
    if (!place)
      return invalidArgument(
          "scalar '{}' is not one of this kernel's: {}{}", binding.name,
          joinNames(names, [](const std::string &name) { return name; }),
          binding.name == scaleName ? " (the scale was fixed when it was compiled)" : "");
    if (*place)
      return invalidArgument("scalar '{}' is bound twice", binding.name);
    *place = &binding;
  }
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (!bound.scalars[index])
      return invalidArgument("scalar '{}' is not bound; this kernel needs {}", names[index],
                             joinNames(names, [](const std::string &name) { return name; }));
    if (Status status = checkScalar(planned[index], *bound.scalars[index]); !status.ok())
      return status;
  }
  return {};
}

float realOf(const ScalarBinding &binding) {
  return binding.isFloat ? float(binding.real) : float(binding.integer);
}

/// The values of one kernel's parameters and the pointers to them.
class ParamBuffer {
public:
  template <typename T> void add(T value) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t), "a parameter takes at most 8 bytes");
    std::memcpy(&values[count], &value, sizeof value);
    pointers[count] = &values[count];
    ++count;
  }

  /// A tensor map, in room of its own with its alignment.
  TensorMap &addMap() {
    pointers[count++] = &maps[mapCount];
    return maps[mapCount++];
  }

  void **data() { return pointers; }
  std::size_t size() const { return count; }

private:
  std::uint64_t values[maxParamSlots];
  void *pointers[maxParamSlots];
  TensorMap maps[maxTensorMaps];
  std::size_t count = 0, mapCount = 0;
};

void addTensor(ParamBuffer &buffer, const TensorRule &rule, const TensorView &view,
               bool unitInner) {
  buffer.add(view.address);
  for (int d = 0; d < rule.rank - (unitInner ? 1 : 0); ++d)
    buffer.add(passedStride(rule, view, d));
}

void addWorkspace(ParamBuffer &buffer, const PlannedWorkspace &workspace, std::uint64_t base,
                  bool unitInner) {
  buffer.add(base + workspace.offset);
  for (int d = 0; d < workspace.rank - (unitInner ? 1 : 0); ++d)
    buffer.add(workspace.strides[std::size_t(d)]);
}

void addInteger(ParamBuffer &buffer, ParamKind kind, std::int64_t value) {
  if (kind == ParamKind::I32)
    buffer.add(std::int32_t(value));
  else
    buffer.add(value);
}

Status addTensorMap(ParamBuffer &buffer, const TensorRule &rule, const TensorView &view,
                    const TensorMapShape &shape, TensorMapCache &cache, Launcher &launcher) {
  TensorMap &map = buffer.addMap();
  for (int d = 0; d < rule.rank; ++d)
    if (view.shape[std::size_t(d)] == 0) {
      // No row to copy, so the kernel never uses the map; and none can be made.
      map = {};
      return {};
    }
  TensorMapRequest request;
  if (Status status = makeTensorMapRequest(rule, view, shape, request); !status.ok())
    return status;
  Status status = cache.get(launcher, request, map);
  return status.ok() ? status : status.withContext("tensor map '" + rule.name + "'");
}

bool takesScale(const std::vector<PlannedKernel> &kernels) {
  for (const PlannedKernel &kernel : kernels)
    for (const ParamSource &param : kernel.params)
      if (param.from == ParamSource::From::Scale)
        return true;
  return false;
}

} // namespace

Status Plan::run(const TensorBinding *tensors, std::size_t tensorCount,
                 const ScalarBinding *scalars, std::size_t scalarCount, std::uint64_t workspace,
                 std::uint64_t workspaceSize, void *stream) const {
  Bindings bound;
  if (Status status = bindTensors(state->tensorRules, tensors, tensorCount, bound); !status.ok())
    return status;
  if (Status status = bindScalars(state->scalarNames, state->scalars, takesScale(state->kernels),
                                  scalars, scalarCount, bound);
      !status.ok())
    return status;
  if (state->empty)
    return {};
  if (workspaceSize < state->workspaceBytes)
    return invalidArgument("the workspace has {} bytes; this plan needs {}", workspaceSize,
                           state->workspaceBytes);
  if (state->workspaceBytes && (workspace == 0 || workspace % 256 != 0))
    return invalidArgument("the workspace address {:#x} is {}; it must be 256-byte aligned",
                           workspace, workspace ? "not aligned" : "null");
  if (!state->launcher)
    return Status(StatusCode::Environment, "this plan was made without a device: it cannot run");

  if (Status status = state->launcher->begin(); !status.ok())
    return status;
  Status status;
  for (std::size_t i = 0; i < state->kernels.size() && status.ok(); ++i) {
    const PlannedKernel &kernel = state->kernels[i];
    if (kernel.grid == 0)
      continue;
    ParamBuffer buffer;
    for (const ParamSource &param : kernel.params) {
      if (!status.ok())
        break;
      switch (param.from) {
      case ParamSource::From::UserTensor:
        addTensor(buffer, state->tensorRules[param.index], *bound.tensors[param.index],
                  param.unitInner);
        break;
      case ParamSource::From::TensorMap:
        status = addTensorMap(buffer, state->tensorRules[param.index], *bound.tensors[param.index],
                              param.map, *state->maps, *state->launcher);
        break;
      case ParamSource::From::Workspace:
        addWorkspace(buffer, state->workspaces[param.index], workspace, param.unitInner);
        break;
      case ParamSource::From::Fixed:
        addInteger(buffer, param.kind, param.fixed);
        break;
      case ParamSource::From::UserScalar:
        if (param.kind == ParamKind::F32)
          buffer.add(realOf(*bound.scalars[param.index]));
        else
          addInteger(buffer, param.kind, bound.scalars[param.index]->integer);
        break;
      case ParamSource::From::Scale:
        buffer.add(bound.scale ? realOf(*bound.scale) : param.fixedReal);
        break;
      }
    }
    if (!status.ok())
      break;
    LaunchRequest request;
    request.kernel = i;
    request.grid = kernel.grid;
    request.block = kernel.block;
    request.sharedBytes = kernel.sharedBytes;
    request.params = buffer.data();
    request.paramCount = buffer.size();
    request.stream = stream;
    status = state->launcher->launch(request);
  }
  state->launcher->end();
  return status;
}

} // namespace attnc::rt
