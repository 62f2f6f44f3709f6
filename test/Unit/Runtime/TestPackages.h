// Small packages that several tests start from.
#ifndef ATTNC_TEST_UNIT_RUNTIME_TESTPACKAGES_H
#define ATTNC_TEST_UNIT_RUNTIME_TESTPACKAGES_H

#include "attnc/Runtime/Package.h"

#include <string>

namespace attnc::rt::testing {

inline ParamDesc tensorParam(const std::string &name, DataType dtype, int rank,
                             bool unitInner = true) {
  ParamDesc param;
  param.name = name;
  param.kind = ParamKind::Tensor;
  param.dtype = dtype;
  param.rank = rank;
  param.unitInner = unitInner;
  return param;
}

inline ParamDesc scalarParam(const std::string &name, ParamKind kind) {
  ParamDesc param;
  param.name = name;
  param.kind = kind;
  return param;
}

/// A prefill kernel: Hq 4, Hkv 2, dims 64, dense, one main kernel with block_m 128.
inline Package prefillPackage() {
  Package package;
  package.name = "prefill";
  package.compiler = "attnc test";
  package.specHash = "00ff";
  package.spec = "attn: 1\nname: prefill\n";
  package.target = "sm_80";
  package.ptxVersion = "8.0";
  package.problem.kind = "prefill";
  package.problem.headsQ = 4;
  package.problem.headsKv = 2;
  package.problem.dimQk = 64;
  package.problem.dimV = 64;
  package.problem.outputs = {"o", "lse"};
  package.config = {{"block_m", 128}, {"stages", 2}};
  KernelDesc kernel;
  kernel.entry = "prefill_main";
  kernel.block = 128;
  kernel.sharedBytes = 49152;
  kernel.grid =
      Expression::mul(Expression::symbol("batch"),
                      Expression::mul(Expression::symbol("heads_q"),
                                      Expression::ceilDiv(Expression::symbol("max_len_q"), 128)));
  kernel.params = {tensorParam("q", DataType::BF16, 4),  tensorParam("k", DataType::BF16, 4),
                   tensorParam("v", DataType::BF16, 4),  tensorParam("o", DataType::BF16, 4),
                   tensorParam("lse", DataType::F32, 3), scalarParam("batch", ParamKind::I32),
                   scalarParam("len_q", ParamKind::I32), scalarParam("len_kv", ParamKind::I32),
                   scalarParam("scale", ParamKind::F32)};
  package.kernels = {kernel};
  package.blobs = {{"ptx", ".version 8.0\n"},
                   {"cubin", std::string("\x7f"
                                         "ELF\0rest",
                                         9)}};
  return package;
}

inline ParamDesc tensorMapParam(const std::string &name, DataType dtype,
                                const std::vector<int> &box) {
  ParamDesc param = tensorParam(name, dtype, int(box.size()));
  param.kind = ParamKind::TensorMap;
  param.box = box;
  param.swizzle = 128;
  return param;
}

/// prefillPackage() as a persistent kernel that copies k and v by tensor maps.
inline Package tensorMapPackage() {
  Package package = prefillPackage();
  KernelDesc &kernel = package.kernels.front();
  kernel.grid = Expression::min(kernel.grid, Expression::symbol("multiprocessors"));
  kernel.params = {tensorParam("q", DataType::BF16, 4),
                   tensorParam("k", DataType::BF16, 4),
                   tensorMapParam("k", DataType::BF16, {1, 1, 128, 64}),
                   tensorMapParam("v", DataType::BF16, {1, 1, 128, 64}),
                   tensorParam("o", DataType::BF16, 4),
                   scalarParam("batch", ParamKind::I32)};
  return package;
}

/// A split decode kernel with a combine step and a workspace: Hq 8, Hkv 2, dims 64, kv_lens.
inline Package decodePackage() {
  Package package = prefillPackage();
  package.name = "decode";
  package.problem.kind = "decode";
  package.problem.headsQ = 8;
  package.problem.seq = "kv_lens";
  package.problem.maxQ = 8;
  package.problem.outputs = {"o"};
  KernelDesc main = package.kernels.front();
  main.entry = "decode_main";
  main.grid =
      Expression::mul(Expression::symbol("splits"),
                      Expression::mul(Expression::symbol("batch"), Expression::symbol("heads_kv")));
  main.params = {tensorParam("q", DataType::BF16, 4),     tensorParam("k", DataType::BF16, 4),
                 tensorParam("v", DataType::BF16, 4),     tensorParam("kv_lens", DataType::I32, 1),
                 tensorParam("o_part", DataType::F32, 4), tensorParam("lse_part", DataType::F32, 2),
                 scalarParam("splits", ParamKind::I32),   scalarParam("arg.cap", ParamKind::F32),
                 scalarParam("arg.win", ParamKind::I32)};
  KernelDesc combine = main;
  combine.entry = "decode_combine";
  combine.role = "combine";
  combine.block = 64;
  combine.sharedBytes = 0;
  combine.grid = Expression::mul(Expression::symbol("batch"), Expression::symbol("heads_q"));
  combine.params = {tensorParam("o_part", DataType::F32, 4),
                    tensorParam("lse_part", DataType::F32, 2), tensorParam("o", DataType::BF16, 4),
                    scalarParam("splits", ParamKind::I32)};
  package.kernels = {main, combine};
  WorkspaceDesc oPart{"o_part",
                      DataType::F32,
                      {Expression::symbol("splits"),
                       Expression::mul(Expression::symbol("batch"), Expression::symbol("heads_q")),
                       Expression::symbol("max_len_q"), 64}};
  WorkspaceDesc lsePart{
      "lse_part",
      DataType::F32,
      {Expression::symbol("splits"),
       Expression::mul(Expression::symbol("batch"), Expression::symbol("heads_q"))}};
  package.workspace = {oPart, lsePart};
  return package;
}

} // namespace attnc::rt::testing

#endif // ATTNC_TEST_UNIT_RUNTIME_TESTPACKAGES_H
