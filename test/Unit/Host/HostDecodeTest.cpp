// Decode through the real passes: packed heads, paged KV, keys split over programs and merged.
#include "HostTesting.h"

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Pipelines/Pipelines.h"
#include "attnc/Reference/Reference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace attnc;
using namespace attnc::testing;

namespace {

/// Eight query heads on two KV heads, pages of 16, one to four queries a sequence.
const char *kPagedDecode = R"mlir(
func.func @decode(%q: tensor<?x8x?x64xbf16> {attn.name = "q"}, %k: tensor<?x2x16x64xbf16> {attn.name = "k"},
                  %v: tensor<?x2x16x64xbf16> {attn.name = "v"}, %lens: tensor<?xi32> {attn.name = "kv_lens"},
                  %table: tensor<?x?xi32> {attn.name = "block_table"}, %sinks: tensor<8xf32> {attn.name = "sinks"})
    -> (tensor<?x8x?x64xbf16> {attn.name = "o"}, tensor<?x8x?xf32> {attn.name = "lse"}) {
  %o, %lse = attn.decode %q, %k, %v kv_lens(%lens : tensor<?xi32>) block_table(%table : tensor<?x?xi32>)
      sinks(%sinks : tensor<8xf32>)
      {max_q = 4 : i64, page_size = 16 : i64, masks = [#attn.causal<bottom_right>],
       config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2, packGqa = true, splitKv = $SPLIT>}
      : tensor<?x8x?x64xbf16>, tensor<?x2x16x64xbf16>, tensor<?x2x16x64xbf16>
     -> tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}
)mlir";

struct PagedProblem {
  std::map<std::string, HostTensor> tensors;
  ProblemSizes sizes;

  PagedProblem() {
    const std::vector<int64_t> lengths = {200, 0, 1, 65};
    int64_t batch = 4, lenQ = 3, pages = 40, columns = 13;
    tensors["q"] = HostTensor::emptyBSHD(DType::BF16, {batch, 8, lenQ, 64});
    fillRandom(tensors["q"], 1);
    tensors["sinks"] = HostTensor::empty(DType::F32, {8});
    fillRandom(tensors["sinks"], 2);
    tensors["kv_lens"] = HostTensor::empty(DType::I32, {batch});
    tensors["block_table"] = HostTensor::empty(DType::I32, {batch, columns});
    // Pages that no sequence names, and rows past a length, hold NaN.
    std::mt19937 generator(3);
    std::normal_distribution<double> normal;
    for (std::string name : {"k", "v"}) {
      tensors[name] = HostTensor::empty(DType::BF16, {pages, 2, 16, 64});
      fillNaN(tensors[name]);
    }
    int64_t next = 7;
    for (int64_t b = 0; b < batch; ++b) {
      tensors["kv_lens"].set({b}, double(lengths[b]));
      for (int64_t column = 0; column < columns; ++column) {
        bool used = column * 16 < lengths[b];
        tensors["block_table"].set({b, column}, used ? double(next) : -1.0);
        if (!used)
          continue;
        for (std::string name : {"k", "v"})
          forEachIndex({2, std::min<int64_t>(16, lengths[b] - column * 16), 64},
                       [&](const std::vector<int64_t> &at) {
                         tensors[name].set({next, at[0], at[1], at[2]}, normal(generator));
                       });
        next = (next + 3) % pages;
      }
    }
    sizes = {{"batch", batch},      {"heads_q", 8},     {"heads_kv", 2},
             {"max_len_q", lenQ},   {"max_len_kv", 200}, {"total_q", lenQ},
             {"total_kv", 200}};
  }
};

mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::attn::AttnDialect, mlir::tile::TileDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::func::FuncDialect>();
  return registry;
}

/// Consumes the module; null after a failure.
std::unique_ptr<HostProgram> compileDecode(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  AttnPhaseOptions options;
  options.target = "host";
  addSteps(manager, attnPhase(options));
  addSteps(manager, tileHostPhase());
  if (mlir::failed(manager.run(module)))
    return nullptr;
  auto program = HostProgram::compile(module);
  return mlir::succeeded(program) ? std::move(*program) : nullptr;
}

/// Runs with each number of splits and compares every run with fp64.
void runDecode(bool split, std::vector<int64_t> counts) {
  mlir::MLIRContext context(dialects());
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      substitute(kPagedDecode, {{"SPLIT", split ? "true" : "false"}}), &context);
  ASSERT_TRUE(module);
  PagedProblem problem;
  ReferenceResult reference;
  ASSERT_EQ(evaluateReference(*module->getOps<mlir::func::FuncOp>().begin(), problem.tensors, {}, 2,
                              reference),
            "");
  auto program = compileDecode(*module);
  ASSERT_TRUE(program);
  for (int64_t count : counts) {
    SCOPED_TRACE(std::to_string(count) + " splits");
    problem.sizes["splits"] = count;
    problem.tensors["o"] = HostTensor::emptyBSHD(DType::BF16, {4, 8, 3, 64});
    problem.tensors["lse"] = HostTensor::empty(DType::F32, {4, 8, 3});
    for (std::string name : {"o", "lse"}) {
      fillNaN(problem.tensors[name]);
      addGuard(problem.tensors[name]);
    }
    ASSERT_EQ(program->run(problem.sizes, problem.tensors, {}, 2), "");
    Comparison o = compareWithReference(problem.tensors["o"], reference.o, reference.plainO);
    EXPECT_TRUE(o.ok) << o.message;
    Comparison lse = compareWithReference(problem.tensors["lse"], reference.lse, reference.plainLse);
    EXPECT_TRUE(lse.ok) << lse.message;
    EXPECT_TRUE(guardHolds(problem.tensors["o"]));
    EXPECT_TRUE(guardHolds(problem.tensors["lse"]));
  }
}

} // namespace

TEST(HostDecode, PagedWithSinks) { runDecode(false, {1}); }
/// More splits than blocks leaves some with nothing (cases E5, C11).
TEST(HostDecode, PagedWithSinksSplit) { runDecode(true, {1, 2, 3, 4, 16}); }

/// A length that the table does not cover, and pages that are none, would be read out of bounds.
TEST(HostDecode, S14_PagedLengthsBeyondTheTable) {
  mlir::MLIRContext context(dialects());
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      substitute(kPagedDecode, {{"SPLIT", "false"}}), &context);
  ASSERT_TRUE(module);
  auto program = compileDecode(*module);
  ASSERT_TRUE(program);
  PagedProblem good;
  good.sizes["splits"] = 1;
  good.tensors["o"] = HostTensor::emptyBSHD(DType::BF16, {4, 8, 3, 64});
  good.tensors["lse"] = HostTensor::empty(DType::F32, {4, 8, 3});
  ASSERT_EQ(program->run(good.sizes, good.tensors, {}, 2), "");
  auto errorWith = [&](const std::string &name, std::vector<int64_t> at, double value) {
    PagedProblem bad = good;
    HostTensor &tensor = bad.tensors[name];
    tensor.storage = std::make_shared<std::vector<uint8_t>>(*tensor.storage);
    tensor.set(at, value);
    return program->run(bad.sizes, bad.tensors, {}, 2);
  };
  EXPECT_EQ(errorWith("kv_lens", {3}, 209),
            "kv_lens[3] is 209; block_table has 13 pages of 16 tokens a sequence, room for 208");
  EXPECT_EQ(errorWith("block_table", {0, 12}, 40),
            "block_table[0, 12] is 40; the pool has pages 0 to 39");
  EXPECT_EQ(errorWith("block_table", {0, 0}, -1),
            "block_table[0, 0] is -1; the pool has pages 0 to 39");
  // Entries that no length needs may hold anything, and a negative length is one of 0.
  EXPECT_EQ(errorWith("block_table", {3, 5}, 1e9), "");
  EXPECT_EQ(errorWith("kv_lens", {0}, -7), "");
}
