// Packages from compile results.
#include "PackageBuilder.h"

#include "Messages.h"

#include "llvm/Support/raw_ostream.h"

namespace attnc::cli {

static constexpr int kThreadsPerWarp = 32;

rt::DataType runtimeDType(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return rt::DataType::F16;
  case DType::BF16:
    return rt::DataType::BF16;
  case DType::F32:
    return rt::DataType::F32;
  case DType::F64:
    return rt::DataType::F64;
  case DType::I32:
    return rt::DataType::I32;
  case DType::I64:
    return rt::DataType::I64;
  case DType::Bool:
    return rt::DataType::Bool;
  case DType::F8E4M3:
    return rt::DataType::F8E4M3;
  case DType::F8E5M2:
    return rt::DataType::F8E5M2;
  }
  llvm_unreachable("all dtypes are listed");
}

static rt::Result<rt::Expression> toExpression(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return rt::Expression::parse(text);
}

static rt::ParamDesc describe(const KernelParam &param) {
  rt::ParamDesc result;
  result.name = param.name;
  switch (param.kind) {
  case KernelParam::Kind::I32:
    result.kind = rt::ParamKind::I32;
    return result;
  case KernelParam::Kind::F32:
    result.kind = rt::ParamKind::F32;
    return result;
  case KernelParam::Kind::TensorMap:
    result.kind = rt::ParamKind::TensorMap;
    result.dtype = runtimeDType(param.dtype);
    result.rank = static_cast<int>(param.rank);
    result.box.assign(param.box.begin(), param.box.end());
    result.swizzle = static_cast<int>(param.swizzle);
    return result;
  case KernelParam::Kind::Tensor:
    break;
  }
  result.kind = rt::ParamKind::Tensor;
  result.dtype = runtimeDType(param.dtype);
  result.rank = static_cast<int>(param.rank);
  result.unitInner = param.unitInner;
  return result;
}

static rt::ProblemDesc describe(const Spec &spec) {
  rt::ProblemDesc problem;
  problem.kind = spec.kind == SpecKind::Decode ? "decode" : "prefill";
  problem.headsQ = spec.headsQ;
  problem.headsKv = spec.headsKv;
  problem.dimQk = spec.dimQk;
  problem.dimV = spec.dimV;
  problem.q = runtimeDType(spec.dtypeQ);
  problem.kv = runtimeDType(spec.dtypeKv);
  problem.o = runtimeDType(spec.dtypeO);
  problem.layout = spec.layout == SpecLayout::BSHD ? "bshd" : "bhsd";
  problem.seq = spec.seq == SpecSeq::Varlen   ? "varlen"
                : spec.seq == SpecSeq::KvLens ? "kv_lens"
                                              : "dense";
  problem.pageSize = spec.pageSize;
  problem.outputs = spec.lse ? std::vector<std::string>{"o", "lse"} : std::vector<std::string>{"o"};
  if (spec.kind == SpecKind::Decode)
    problem.maxQ = spec.maxQ;
  return problem;
}

/// The `.version` that the PTX text declares.
static std::string ptxVersionOf(llvm::StringRef ptx) {
  size_t at = ptx.find(".version ");
  return at == llvm::StringRef::npos ? std::string()
                                     : ptx.substr(at + 9).take_until([](char c) {
                                         return c == '\n' || c == ' ';
                                       }).str();
}

rt::Result<rt::Package> buildPackage(const Spec &spec, const TargetInfo &target,
                                     const TargetResult &result) {
  rt::Package package;
  package.name = spec.name;
  package.compiler = compilerId();
  package.specHash = specHash(spec);
  package.spec = printSpec(spec);
  package.target = target.name.str();
  package.ptxVersion = ptxVersionOf(result.compiled.ptx);
  package.problem = describe(spec);
  for (const auto &[field, value] : result.compiled.config)
    package.config[field] = value;
  for (const KernelInterface &kernel : result.compiled.program.kernels) {
    rt::KernelDesc desc;
    desc.entry = kernel.entry;
    desc.role = kernel.role;
    desc.block = static_cast<int>(kernel.warps) * kThreadsPerWarp;
    desc.sharedBytes = kernel.sharedBytes;
    rt::Result<rt::Expression> grid = toExpression(kernel.grid);
    if (!grid.ok())
      return grid.status().withContext("grid of " + kernel.entry);
    desc.grid = *grid;
    for (const KernelParam &param : kernel.params)
      desc.params.push_back(describe(param));
    package.kernels.push_back(std::move(desc));
  }
  for (const WorkspaceInterface &workspace : result.compiled.program.workspace) {
    rt::WorkspaceDesc desc;
    desc.name = workspace.name;
    desc.dtype = runtimeDType(workspace.dtype);
    for (const llvm::json::Value &extent : workspace.shape) {
      rt::Result<rt::Expression> expression = toExpression(extent);
      if (!expression.ok())
        return expression.status().withContext("workspace " + workspace.name);
      desc.shape.push_back(*expression);
    }
    package.workspace.push_back(std::move(desc));
  }
  package.blobs["ptx"] = result.compiled.ptx;
  if (result.assembled)
    package.blobs["cubin"] = result.assembled->cubin;
  if (rt::Status status = package.validate(); !status.ok())
    return rt::Status(rt::StatusCode::Internal, "the package is not valid: " + status.message());
  return package;
}

} // namespace attnc::cli
