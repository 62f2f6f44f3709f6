// Builds an attention function and its data from a few fields, for tests with closed forms.
#ifndef ATTNC_TEST_UNIT_REFERENCE_ATTENTIONCASE_H
#define ATTNC_TEST_UNIT_REFERENCE_ATTENTIONCASE_H

#include "attnc/Reference/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace attnc {

struct AttentionCase {
  std::string kind = "prefill", type = "f16", attributes;
  int64_t batch = 1, headsQ = 1, headsKv = 1, lenQ = 1, lenKv = 1, dim = 64, dimV = 0;
  /// Regions after the types, and extra function arguments ("%cap: f32 {attn.name = \"arg.cap\"}").
  std::string regions, arguments;
  /// Set one of these to make the case ragged, variable-length or paged.
  std::vector<int64_t> kvLens, cuQ, cuKv;
  std::vector<std::vector<int64_t>> blockTable;
  int64_t pages = 0, pageSize = 0;
  std::vector<double> sinks;
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, double> scalars;

  DType dtype() const {
    DType result;
    EXPECT_TRUE(parseDType(type, result));
    return result;
  }

  /// Zero q, k and v of the case's shapes, in the BSHD order.
  void makeTensors() {
    int64_t dv = dimV ? dimV : dim;
    bool varlen = !cuQ.empty();
    int64_t rows = varlen ? std::max<int64_t>(lenQ, cuQ.back()) : lenQ;
    int64_t keys = varlen ? std::max<int64_t>(lenKv, cuKv.back()) : lenKv;
    int64_t outer = varlen ? 1 : batch, kvOuter = pages ? pages : outer;
    tensors["q"] = HostTensor::emptyBSHD(dtype(), {outer, headsQ, rows, dim});
    tensors["k"] = HostTensor::emptyBSHD(dtype(), {kvOuter, headsKv, pages ? pageSize : keys, dim});
    tensors["v"] = HostTensor::emptyBSHD(dtype(), {kvOuter, headsKv, pages ? pageSize : keys, dv});
    auto list = [&](const char *name, DType element, auto values) {
      HostTensor tensor = HostTensor::empty(element, {static_cast<int64_t>(values.size())});
      for (size_t i = 0; i < values.size(); ++i)
        tensor.set({static_cast<int64_t>(i)}, static_cast<double>(values[i]));
      tensors[name] = tensor;
    };
    if (!kvLens.empty())
      list("kv_lens", DType::I32, kvLens);
    if (varlen) {
      list("cu_seqlens_q", DType::I32, cuQ);
      list("cu_seqlens_kv", DType::I32, cuKv);
    }
    if (!sinks.empty())
      list("sinks", DType::F32, sinks);
    if (!blockTable.empty()) {
      auto columns = static_cast<int64_t>(blockTable.front().size());
      HostTensor table = HostTensor::empty(DType::I32, {batch, columns});
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t i = 0; i < columns; ++i)
          table.set({b, i}, static_cast<double>(blockTable[b][i]));
      tensors["block_table"] = table;
    }
  }

  /// Sets a whole row of k or v; for pools, `batch` is a page.
  void setRow(const char *name, int64_t b, int64_t head, int64_t row, double value) {
    HostTensor &tensor = tensors[name];
    for (int64_t d = 0; d < tensor.shape[3]; ++d)
      tensor.set({b, head, row, d}, value);
  }
  /// V[j, :] = j + 1 for every batch and head.
  void countingValues() {
    HostTensor &v = tensors["v"];
    for (int64_t b = 0; b < v.shape[0]; ++b)
      for (int64_t h = 0; h < v.shape[1]; ++h)
        for (int64_t j = 0; j < v.shape[2]; ++j)
          setRow("v", b, h, j, static_cast<double>(j + 1));
  }

  std::string source() const {
    auto tensorType = [&](int64_t heads, int64_t seq, int64_t d) {
      return "tensor<?x" + std::to_string(heads) + "x" + (seq ? std::to_string(seq) : "?") + "x" +
             std::to_string(d) + "x" + type + ">";
    };
    int64_t dv = dimV ? dimV : dim;
    std::string q = tensorType(headsQ, 0, dim), k = tensorType(headsKv, pageSize, dim),
                v = tensorType(headsKv, pageSize, dv), o = tensorType(headsQ, 0, dv),
                lse = "tensor<?x" + std::to_string(headsQ) + "x?xf32>";
    std::string arguments = "%q: " + q + " {attn.name = \"q\"}, %k: " + k +
                            " {attn.name = \"k\"}, %v: " + v + " {attn.name = \"v\"}";
    std::string operands;
    auto operand = [&](const std::string &name, const std::string &operandType) {
      arguments += ", %" + name + ": " + operandType + " {attn.name = \"" + name + "\"}";
      operands += " " + name + "(%" + name + " : " + operandType + ")";
    };
    if (!kvLens.empty())
      operand("kv_lens", "tensor<?xi32>");
    if (!cuQ.empty()) {
      operand("cu_seqlens_q", "tensor<?xi32>");
      operand("cu_seqlens_kv", "tensor<?xi32>");
    }
    if (!blockTable.empty())
      operand("block_table", "tensor<?x?xi32>");
    if (!sinks.empty())
      operand("sinks", "tensor<" + std::to_string(headsQ) + "xf32>");
    if (!this->arguments.empty())
      arguments += ", " + this->arguments;
    std::string attrs = attributes;
    auto attribute = [&](const std::string &text) { attrs += (attrs.empty() ? "" : ", ") + text; };
    if (kind == "decode")
      attribute("max_q = " + std::to_string(std::max<int64_t>(lenQ, 1)));
    if (pageSize)
      attribute("page_size = " + std::to_string(pageSize));
    return "func.func @f(" + arguments + ") -> (" + o + ", " + lse + ") {\n%o, %lse = attn." +
           kind + " %q, %k, %v" + operands + " {" + attrs + "} : " + q + ", " + k + ", " + v +
           " -> " + o + ", " + lse + "\n" + regions + "\nreturn %o, %lse : " + o + ", " + lse +
           "\n}\n";
  }

  /// Evaluates; fails the test on an error unless `error` is given.
  ReferenceResult run(std::string *error = nullptr) const {
    mlir::MLIRContext context;
    context.loadDialect<mlir::attn::AttnDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source(), &context);
    ReferenceResult result;
    EXPECT_TRUE(module) << source();
    if (!module)
      return result;
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    std::string message = evaluateReference(function, tensors, scalars, 2, result);
    if (error)
      *error = message;
    else
      EXPECT_EQ(message, "");
    return result;
  }
};

} // namespace attnc

#endif // ATTNC_TEST_UNIT_REFERENCE_ATTENTIONCASE_H
