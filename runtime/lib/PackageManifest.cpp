// Reads and writes the manifest of a package.
#include "PackageManifest.h"

#include "ExpressionJson.h"
#include "StatusFormat.h"

namespace attnc::rt {
namespace {

constexpr std::int64_t maxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t maxInt64 = std::numeric_limits<std::int64_t>::max();

struct KindName {
  ParamKind kind;
  const char *name;
};
constexpr KindName kindNames[] = {{ParamKind::Tensor, "tensor"},
                                  {ParamKind::I32, "i32"},
                                  {ParamKind::I64, "i64"},
                                  {ParamKind::F32, "f32"},
                                  {ParamKind::TensorMap, "tensor_map"}};

const char *kindName(ParamKind kind) {
  for (const KindName &entry : kindNames)
    if (entry.kind == kind)
      return entry.name;
  return "?";
}

DataType readDataType(JsonFields &fields, const char *key) {
  const std::string name = fields.string(key);
  if (!fields.ok())
    return DataType::F32;
  if (std::optional<DataType> type = parseDataType(name))
    return *type;
  fields.fail(key, fmt::format("unknown dtype '{}'; allowed are bf16, f16, f32, f64, i32, i64, u8, "
                               "bool, f8e4m3, f8e5m2",
                               name.substr(0, 64)));
  return DataType::F32;
}

Expression readExpression(const Json &json, JsonFields &fields, const std::string &key) {
  Result<Expression> parsed = expressionFromJson(json);
  if (!parsed) {
    fields.fail(key, parsed.status().message());
    return {};
  }
  return std::move(*parsed);
}

std::vector<Expression> readShape(JsonFields &fields, const char *key) {
  std::vector<Expression> shape;
  if (const Json *dimensions = fields.array(key))
    for (const Json &dimension : *dimensions)
      shape.push_back(readExpression(dimension, fields, key));
  return shape;
}

ProblemDesc readProblem(const Json &json, Status &status) {
  JsonFields fields(json, "problem", status);
  ProblemDesc problem;
  problem.kind = fields.string("kind");
  problem.headsQ = fields.integer("heads_q", 1, maxInt32);
  problem.headsKv = fields.integer("heads_kv", 1, maxInt32);
  problem.dimQk = fields.integer("dim_qk", 1, maxInt32);
  problem.dimV = fields.integer("dim_v", 1, maxInt32);
  if (const Json *dtype = fields.object("dtype")) {
    JsonFields types(*dtype, "problem.dtype", status);
    problem.q = readDataType(types, "q");
    problem.kv = readDataType(types, "kv");
    problem.o = readDataType(types, "o");
  }
  problem.layout = fields.string("layout");
  problem.seq = fields.string("seq");
  if (fields.optional("page_size"))
    problem.pageSize = fields.integer("page_size", 1, maxInt32);
  if (fields.optional("max_q"))
    problem.maxQ = fields.integer("max_q", 1, maxInt32);
  problem.outputs.clear();
  if (const Json *outputs = fields.array("outputs"))
    for (const Json &output : *outputs) {
      if (!output.is_string())
        fields.fail("outputs", "expected strings, found " + describeJson(output));
      else
        problem.outputs.push_back(output.get<std::string>());
    }
  return problem;
}

ParamDesc readParam(const Json &json, const std::string &path, Status &status) {
  JsonFields fields(json, path, status);
  ParamDesc param;
  param.name = fields.string("name");
  const std::string kind = fields.string("kind");
  if (!fields.ok())
    return param;
  bool known = false;
  for (const KindName &entry : kindNames)
    if (kind == entry.name) {
      param.kind = entry.kind;
      known = true;
    }
  if (!known) {
    fields.fail("kind", fmt::format("unknown kind '{}'; allowed are tensor, tensor_map, i32, i64, "
                                    "f32",
                                    kind.substr(0, 64)));
    return param;
  }
  if (param.kind != ParamKind::Tensor && param.kind != ParamKind::TensorMap)
    return param;
  param.dtype = readDataType(fields, "dtype");
  param.rank = int(fields.integer("rank", 1, 8));
  param.unitInner = fields.booleanOr("unit_inner", true);
  param.align = int(fields.integerOr("align", 0, 0, 4096));
  if (fields.optional("shape"))
    param.shape = readShape(fields, "shape");
  if (param.kind != ParamKind::TensorMap)
    return param;
  param.swizzle = int(fields.integerOr("swizzle", 0, 0, 1024));
  if (const Json *box = fields.array("box"))
    for (const Json &extent : *box) {
      if (!extent.is_number_integer() || extent < 1 || extent > maxInt32)
        fields.fail("box", "expected integers of 1 or more, found " + describeJson(extent));
      else
        param.box.push_back(extent.get<int>());
    }
  return param;
}

KernelDesc readKernel(const Json &json, const std::string &path, Status &status) {
  JsonFields fields(json, path, status);
  KernelDesc kernel;
  kernel.entry = fields.string("entry");
  kernel.role = fields.stringOr("role", "main");
  kernel.block = int(fields.integer("block", 1, maxInt32));
  kernel.sharedBytes = fields.integer("shared_bytes", 0, maxInt32);
  if (const Json *grid = fields.optional("grid"))
    kernel.grid = readExpression(*grid, fields, "grid");
  else
    fields.fail("grid", "missing; expected an expression");
  if (const Json *params = fields.array("params"))
    for (std::size_t i = 0; i < params->size() && fields.ok(); ++i)
      kernel.params.push_back(
          readParam((*params)[i], fmt::format("{}.params[{}]", path, i), status));
  return kernel;
}

WorkspaceDesc readWorkspace(const Json &json, const std::string &path, Status &status) {
  JsonFields fields(json, path, status);
  WorkspaceDesc workspace;
  workspace.name = fields.string("name");
  workspace.dtype = readDataType(fields, "dtype");
  workspace.shape = readShape(fields, "shape");
  return workspace;
}

Json shapeToJson(const std::vector<Expression> &shape) {
  Json result = Json::array();
  for (const Expression &dimension : shape)
    result.push_back(expressionToJson(dimension));
  return result;
}

Json paramToJson(const ParamDesc &param) {
  Json json = {{"name", param.name}, {"kind", kindName(param.kind)}};
  const bool isMap = param.kind == ParamKind::TensorMap;
  if (param.kind != ParamKind::Tensor && !isMap)
    return json;
  json["dtype"] = dataTypeName(param.dtype);
  json["rank"] = param.rank;
  if (isMap) {
    json["box"] = param.box;
    json["swizzle"] = param.swizzle;
  } else {
    json["unit_inner"] = param.unitInner;
  }
  if (param.align)
    json["align"] = param.align;
  if (!param.shape.empty())
    json["shape"] = shapeToJson(param.shape);
  return json;
}

Json kernelToJson(const KernelDesc &kernel) {
  Json params = Json::array();
  for (const ParamDesc &param : kernel.params)
    params.push_back(paramToJson(param));
  return {{"entry", kernel.entry},
          {"role", kernel.role},
          {"block", kernel.block},
          {"shared_bytes", kernel.sharedBytes},
          {"grid", expressionToJson(kernel.grid)},
          {"params", std::move(params)}};
}

Json problemToJson(const ProblemDesc &problem) {
  Json json = {{"kind", problem.kind},
               {"heads_q", problem.headsQ},
               {"heads_kv", problem.headsKv},
               {"dim_qk", problem.dimQk},
               {"dim_v", problem.dimV},
               {"dtype",
                {{"q", dataTypeName(problem.q)},
                 {"kv", dataTypeName(problem.kv)},
                 {"o", dataTypeName(problem.o)}}},
               {"layout", problem.layout},
               {"seq", problem.seq},
               {"outputs", problem.outputs}};
  json["page_size"] = problem.pageSize ? Json(*problem.pageSize) : Json(nullptr);
  json["max_q"] = problem.maxQ ? Json(*problem.maxQ) : Json(nullptr);
  return json;
}

} // namespace

Result<Manifest> manifestFromJson(const Json &json) {
  Status status;
  JsonFields fields(json, "", status);
  Manifest manifest;
  Package &package = manifest.package;

  const std::int64_t format = fields.integer("format", 0, maxInt64);
  if (fields.ok() && format != Package::formatVersion)
    return unsupported("package format {} is not known to this runtime, which reads format {}; "
                       "recompile the spec, or use the runtime that belongs to the compiler",
                       format, Package::formatVersion);
  package.name = fields.string("name");
  package.compiler = fields.string("compiler");
  package.specHash = fields.string("spec_hash");
  package.spec = fields.string("spec");
  package.target = fields.string("target");
  package.ptxVersion = fields.stringOr("ptx_version", "");
  if (const Json *problem = fields.object("problem"))
    package.problem = readProblem(*problem, status);
  if (fields.optional("config"))
    if (const Json *config = fields.object("config"))
      for (const auto &item : config->items()) {
        JsonFields values(*config, "config", status);
        package.config[item.key()] =
            values.integer(item.key().c_str(), std::numeric_limits<std::int64_t>::min(), maxInt64);
      }
  if (const Json *kernels = fields.array("kernels"))
    for (std::size_t i = 0; i < kernels->size() && fields.ok(); ++i)
      package.kernels.push_back(readKernel((*kernels)[i], fmt::format("kernels[{}]", i), status));
  if (fields.optional("workspace"))
    if (const Json *workspace = fields.array("workspace"))
      for (std::size_t i = 0; i < workspace->size() && fields.ok(); ++i)
        package.workspace.push_back(
            readWorkspace((*workspace)[i], fmt::format("workspace[{}]", i), status));
  if (const Json *blobs = fields.object("blobs"))
    for (const auto &item : blobs->items()) {
      JsonFields range(item.value(), "blobs." + item.key(), status);
      BlobRange &blob = manifest.blobs[item.key()];
      blob.offset = std::uint64_t(range.integer("offset", 0, maxInt64));
      blob.size = std::uint64_t(range.integer("size", 0, maxInt64));
    }
  if (!status.ok())
    return status;
  return manifest;
}

Json manifestToJson(const Manifest &manifest) {
  const Package &package = manifest.package;
  Json kernels = Json::array();
  for (const KernelDesc &kernel : package.kernels)
    kernels.push_back(kernelToJson(kernel));
  Json workspace = Json::array();
  for (const WorkspaceDesc &item : package.workspace)
    workspace.push_back({{"name", item.name},
                         {"dtype", dataTypeName(item.dtype)},
                         {"shape", shapeToJson(item.shape)}});
  Json blobs = Json::object();
  for (const auto &[name, range] : manifest.blobs)
    blobs[name] = {{"offset", range.offset}, {"size", range.size}};
  Json config = Json::object();
  for (const auto &[key, value] : package.config)
    config[key] = value;
  return {{"format", Package::formatVersion},
          {"name", package.name},
          {"compiler", package.compiler},
          {"spec_hash", package.specHash},
          {"spec", package.spec},
          {"target", package.target},
          {"ptx_version", package.ptxVersion},
          {"problem", problemToJson(package.problem)},
          {"config", std::move(config)},
          {"kernels", std::move(kernels)},
          {"workspace", std::move(workspace)},
          {"blobs", std::move(blobs)}};
}

} // namespace attnc::rt
