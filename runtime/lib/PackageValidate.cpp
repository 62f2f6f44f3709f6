// The invariants of a package that everything after reading relies on.
#include "attnc/Runtime/Assemble.h"
#include "attnc/Runtime/Package.h"

#include "KernelAbi.h"
#include "StatusFormat.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace attnc::rt {
namespace {

constexpr std::size_t maxNameLength = 128;
constexpr std::size_t maxKernels = 64;
constexpr std::size_t maxWorkspaces = 64;

bool oneOf(const std::string &value, std::initializer_list<const char *> allowed) {
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const char *candidate) { return value == candidate; });
}

/// A PTX identifier, so that it can be printed and looked up safely.
bool isIdentifier(const std::string &name) {
  if (name.empty() || name.size() > maxNameLength ||
      std::isdigit(static_cast<unsigned char>(name[0])))
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '$'; });
}

Status checkName(const std::string &path, const std::string &name) {
  if (name.empty() || name.size() > maxNameLength)
    return invalidArgument("{}: a name has 1 to {} characters, found {}", path, maxNameLength,
                           name.size());
  for (unsigned char c : name)
    if (c < 0x20 || c == 0x7f)
      return invalidArgument("{}: a name holds no control characters", path);
  return {};
}

Status checkSymbols(const std::string &path, const Expression &expression) {
  if (expression.steps().size() > Expression::maxSteps)
    return invalidArgument("{}: expression has more than {} parts", path, Expression::maxSteps);
  const std::vector<std::string> &known = packageSymbols();
  for (const std::string &symbol : expression.symbols())
    if (std::find(known.begin(), known.end(), symbol) == known.end())
      return invalidArgument("{}: unknown symbol '{}'; allowed are batch, heads_q, heads_kv, "
                             "max_len_q, max_len_kv, splits, total_q, total_kv, multiprocessors",
                             path, symbol);
  return {};
}

Status checkProblem(const ProblemDesc &problem) {
  if (!oneOf(problem.kind, {"prefill", "decode"}))
    return invalidArgument("problem.kind: '{}' is not one of prefill, decode", problem.kind);
  if (!oneOf(problem.layout, {"bshd", "bhsd"}))
    return invalidArgument("problem.layout: '{}' is not one of bshd, bhsd", problem.layout);
  if (!oneOf(problem.seq, {"dense", "varlen", "kv_lens"}))
    return invalidArgument("problem.seq: '{}' is not one of dense, varlen, kv_lens", problem.seq);
  if (problem.headsQ < 1 || problem.headsKv < 1 || problem.dimQk < 1 || problem.dimV < 1)
    return invalidArgument("problem: heads and dims must be 1 or more");
  if (problem.headsQ % problem.headsKv != 0)
    return invalidArgument("problem: heads_q {} is not a multiple of heads_kv {}", problem.headsQ,
                           problem.headsKv);
  if (problem.pageSize && *problem.pageSize < 1)
    return invalidArgument("problem.page_size: must be 1 or more");
  if (problem.pageSize && problem.seq != "kv_lens")
    return invalidArgument("problem: a paged cache needs seq 'kv_lens', found '{}'", problem.seq);
  if (problem.outputs.empty())
    return invalidArgument("problem.outputs: names no output");
  for (const std::string &output : problem.outputs)
    if (!oneOf(output, {"o", "lse"}))
      return invalidArgument("problem.outputs: '{}' is not one of o, lse", output);
  return {};
}

/// The rules of the copy engine that need no tensor.
Status checkTensorMap(const std::string &path, const ParamDesc &param) {
  constexpr int maxBox = 256, maxRank = 5;
  if (param.rank > maxRank)
    return invalidArgument("{}.rank: a tensor map has up to {} dimensions, found {}", path, maxRank,
                           param.rank);
  if (param.dtype != DataType::BF16 && param.dtype != DataType::F16 &&
      param.dtype != DataType::F32 && byteSize(param.dtype) != 1)
    return invalidArgument("{}.dtype: {} is not one that tensor maps take here: bf16, f16, f32, u8, "
                           "bool, f8e4m3, f8e5m2",
                           path, dataTypeName(param.dtype));
  if (!param.unitInner)
    return invalidArgument("{}.unit_inner: the innermost stride of a tensor map is 1", path);
  if (param.box.size() != std::size_t(param.rank))
    return invalidArgument("{}.box: {} extents for rank {}", path, param.box.size(), param.rank);
  for (int extent : param.box)
    if (extent < 1 || extent > maxBox)
      return invalidArgument("{}.box: {} is out of range; allowed are 1 to {}", path, extent,
                             maxBox);
  if (param.swizzle != 0 && param.swizzle != 32 && param.swizzle != 64 && param.swizzle != 128)
    return invalidArgument("{}.swizzle: {} is not one of 0, 32, 64, 128", path, param.swizzle);
  const std::int64_t rowBytes = param.box.back() * byteSize(param.dtype);
  if (rowBytes % 16 != 0 || (param.swizzle && rowBytes > param.swizzle))
    return invalidArgument("{}.box: rows of {} bytes; they are multiples of 16 bytes and no longer "
                           "than the swizzle of {}",
                           path, rowBytes, param.swizzle);
  return {};
}

Status checkParam(const std::string &path, const ParamDesc &param) {
  if (Status status = checkName(path + ".name", param.name); !status.ok())
    return status;
  if (param.kind != ParamKind::Tensor && param.kind != ParamKind::TensorMap)
    return {};
  if (param.rank < 1 || param.rank > maxTensorRank)
    return invalidArgument("{}.rank: {} is out of range; allowed are 1 to {}", path, param.rank,
                           maxTensorRank);
  if (byteSize(param.dtype) == 0)
    return invalidArgument("{}.dtype: not a known dtype", path);
  if (param.align < 0 || (param.align & (param.align - 1)) != 0)
    return invalidArgument("{}.align: {} is not a power of two", path, param.align);
  if (!param.shape.empty() && param.shape.size() != std::size_t(param.rank))
    return invalidArgument("{}.shape: {} dimensions for rank {}", path, param.shape.size(),
                           param.rank);
  for (const Expression &dimension : param.shape)
    if (Status status = checkSymbols(path + ".shape", dimension); !status.ok())
      return status;
  return param.kind == ParamKind::TensorMap ? checkTensorMap(path, param) : Status();
}

Status checkKernel(const std::string &path, const KernelDesc &kernel) {
  if (!isIdentifier(kernel.entry))
    return invalidArgument("{}.entry: '{}' is not an identifier", path,
                           kernel.entry.substr(0, maxNameLength));
  if (!oneOf(kernel.role, {"main", "combine"}))
    return invalidArgument("{}.role: '{}' is not one of main, combine", path,
                           kernel.role.substr(0, maxNameLength));
  if (kernel.block < 1 || kernel.block > 1024)
    return invalidArgument("{}.block: {} threads; allowed are 1 to 1024", path, kernel.block);
  if (kernel.sharedBytes < 0 || kernel.sharedBytes > (std::int64_t(1) << 20))
    return invalidArgument("{}.shared_bytes: {} is out of range; allowed are 0 to 1048576", path,
                           kernel.sharedBytes);
  if (Status status = checkSymbols(path + ".grid", kernel.grid); !status.ok())
    return status;
  std::set<std::string> names;
  std::size_t slots = 0, maps = 0;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const ParamDesc &param = kernel.params[i];
    if (Status status = checkParam(fmt::format("{}.params[{}]", path, i), param); !status.ok())
      return status;
    // A kernel may take a tensor and its map.
    const bool isMap = param.kind == ParamKind::TensorMap;
    maps += isMap;
    if (!names.insert(isMap ? param.name + ".map" : param.name).second)
      return invalidArgument("{}.params[{}]: '{}' appears twice", path, i, param.name);
    slots += paramSlots(param);
  }
  if (maps > maxTensorMaps)
    return invalidArgument("{}.params: {} tensor maps; at most {} are allowed", path, maps,
                           maxTensorMaps);
  if (slots > maxParamSlots)
    return invalidArgument("{}.params: expand to {} kernel parameters; at most {} are allowed",
                           path, slots, maxParamSlots);
  return {};
}

} // namespace

Status Package::validate() const {
  if (Status status = checkName("name", name); !status.ok())
    return status;
  if (!isTargetName(target))
    return invalidArgument("target: '{}' is not of the form sm_80 or sm_90a",
                           target.substr(0, maxNameLength));
  if (Status status = checkProblem(problem); !status.ok())
    return status;
  if (kernels.empty() || kernels.size() > maxKernels)
    return invalidArgument("kernels: {} found; allowed are 1 to {}", kernels.size(), maxKernels);
  if (workspace.size() > maxWorkspaces)
    return invalidArgument("workspace: {} found; allowed are 0 to {}", workspace.size(),
                           maxWorkspaces);
  std::set<std::string> workspaceNames;
  for (std::size_t i = 0; i < workspace.size(); ++i) {
    const std::string path = fmt::format("workspace[{}]", i);
    if (Status status = checkName(path + ".name", workspace[i].name); !status.ok())
      return status;
    if (!workspaceNames.insert(workspace[i].name).second)
      return invalidArgument("{}: '{}' appears twice", path, workspace[i].name);
    if (workspace[i].shape.empty() || workspace[i].shape.size() > std::size_t(maxTensorRank))
      return invalidArgument("{}.shape: {} dimensions; allowed are 1 to {}", path,
                             workspace[i].shape.size(), maxTensorRank);
    for (const Expression &dimension : workspace[i].shape)
      if (Status status = checkSymbols(path + ".shape", dimension); !status.ok())
        return status;
  }
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (Status status = checkKernel(fmt::format("kernels[{}]", i), kernels[i]); !status.ok())
      return status;
  for (const auto &item : blobs)
    if (Status status = checkName("blobs", item.first); !status.ok())
      return status;
  if (blob("ptx").empty() && blob("cubin").empty())
    return invalidArgument("blobs: neither ptx nor cubin is there");
  return {};
}

} // namespace attnc::rt
