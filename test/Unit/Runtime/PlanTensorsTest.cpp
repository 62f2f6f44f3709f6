// What a plan accepts and refuses among tensors, each refusal naming tensor, found and allowed.
#include "RecordingLauncher.h"
#include "TestPackages.h"
#include "attnc/Runtime/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::rt;
using namespace attnc::rt::testing;
using ::testing::HasSubstr;

namespace {

constexpr std::int64_t batch = 2, lenQ = 16, lenKv = 24;

/// Runs prefillPackage(), possibly changed, with one good set of tensors, possibly changed.
class PlanTensors : public ::testing::Test {
protected:
  void SetUp() override {
    const auto bf16 = [](std::uint64_t address, std::initializer_list<std::int64_t> shape) {
      return TensorView::contiguous(address, DataType::BF16, shape);
    };
    bindings = {{"q", bf16(0x1000, {batch, 4, lenQ, 64})},
                {"k", bf16(0x2000, {batch, 2, lenKv, 64})},
                {"v", bf16(0x3000, {batch, 2, lenKv, 64})},
                {"o", bf16(0x4000, {batch, 4, lenQ, 64})},
                {"lse", TensorView::contiguous(0x5000, DataType::F32, {batch, 4, lenQ})}};
    sizes.batch = batch;
    sizes.maxLenQ = lenQ;
    sizes.maxLenKv = lenKv;
  }
  TensorView &at(std::string_view name) {
    for (TensorBinding &binding : bindings)
      if (binding.name == name)
        return binding.tensor;
    throw std::out_of_range(std::string(name));
  }
  /// The error, or "" for success.
  std::string run() {
    Result<Plan> plan = Plan::create(std::make_shared<const Package>(package), launcher, sizes);
    if (!plan)
      return plan.status().message();
    const Status status = plan->run(bindings.data(), bindings.size(), nullptr, 0, 0, 0, nullptr);
    if (!status.ok())
      EXPECT_TRUE(launcher->launches.empty()) << "launched in spite of an error";
    return status.message();
  }

  Package package = prefillPackage();
  ProblemSizes sizes;
  std::vector<TensorBinding> bindings;
  std::shared_ptr<RecordingLauncher> launcher = std::make_shared<RecordingLauncher>();
};

TEST_F(PlanTensors, NamesAreChecked) {
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  bindings.push_back({"key", at("k")});
  EXPECT_EQ(run(), "tensor 'key' is not one of this kernel's: q, k, v, o, lse");
  bindings.back().name = "k";
  EXPECT_EQ(run(), "tensor 'k' is bound twice");
  bindings.erase(bindings.begin() + 1);
  bindings.back().name = "v";
  EXPECT_EQ(run(), "tensor 'v' is bound twice");
  bindings.pop_back();
  EXPECT_EQ(run(), "tensor 'k' is not bound; this kernel needs q, k, v, o, lse");
}

TEST_F(PlanTensors, DtypeRankAndShapeAreChecked) {
  at("q").dtype = DataType::F16;
  EXPECT_EQ(run(), "tensor 'q': dtype is f16; this kernel takes bf16");
  at("q").dtype = static_cast<DataType>(99);
  EXPECT_EQ(run(), "tensor 'q': dtype is unknown; this kernel takes bf16");
  SetUp();
  at("q").rank = 3;
  EXPECT_EQ(run(), "tensor 'q': has 3 dimensions; this kernel takes 4");
  SetUp();
  at("k").shape[1] = 4;
  EXPECT_EQ(run(), "tensor 'k': dimension 1 (head) is 4; this plan needs 2");
  SetUp();
  at("v").shape[2] = lenKv + 1;
  EXPECT_EQ(run(), "tensor 'v': dimension 2 (seq) is 25; this plan needs 24");
  SetUp();
  at("o").shape[3] = 32;
  EXPECT_EQ(run(), "tensor 'o': dimension 3 (dim) is 32; this plan needs 64");
  SetUp();
  at("lse").shape[0] = -1;
  EXPECT_EQ(run(), "tensor 'lse': dimension 0 (batch) is -1; sizes are 0 or more");
}

TEST_F(PlanTensors, A5_SlicesOfOnePackedBufferAreAccepted) {
  // q, k, v as [B, S, 3, H, D] slices, with as many KV heads as the package has.
  package.problem.headsKv = 4;
  sizes.maxLenKv = lenQ;
  const std::int64_t row = 3 * 4 * 64;
  int slice = 0;
  for (const char *name : {"q", "k", "v"})
    at(name) = TensorView(0x10000 + std::uint64_t(slice++) * 4 * 64 * 2, DataType::BF16,
                          {batch, 4, lenQ, 64}, {lenQ * row, 64, row, 1});
  ASSERT_EQ(run(), "");
  EXPECT_EQ(launcher->launches[0].word(5), std::uint64_t(lenQ * row));
  EXPECT_EQ(launcher->launches[0].word(6), 64u);
  EXPECT_EQ(launcher->launches[0].word(7), std::uint64_t(row));
}

TEST_F(PlanTensors, A5_InnerStrideOtherThanOneIsRefused) {
  at("k").strides = {2 * lenKv * 64, lenKv * 64, 1, lenKv};
  EXPECT_EQ(run(), "tensor 'k': stride 1 of dimension 2 (seq), in elements of 2 bytes, is not a "
                   "multiple of 16 bytes; copy the tensor or pad its rows");
  at("k").strides = {4 * lenKv * 64, 2 * lenKv * 64, 128, 2};
  EXPECT_EQ(run(), "tensor 'k': the stride of the last dimension is 2; it must be 1, make that "
                   "dimension contiguous");
}

TEST_F(PlanTensors, A7_MisalignedBaseIsRefusedForEveryOperand) {
  for (const char *name : {"q", "k", "v", "o"}) {
    SetUp();
    at(name).address += 2;
    EXPECT_THAT(run(), HasSubstr(std::string("tensor '") + name + "': the address"));
    EXPECT_THAT(run(), HasSubstr("is not 16-byte aligned; it is off by 2 bytes"));
  }
  SetUp();
  at("lse").address += 4; // Single elements are written there.
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  at("lse").address += 2;
  EXPECT_THAT(run(), HasSubstr("is not 4-byte aligned"));
}

TEST_F(PlanTensors, A7_MisalignedRowStrideIsRefused) {
  at("v").strides[2] = 68;
  EXPECT_THAT(
      run(),
      HasSubstr("tensor 'v': stride 68 of dimension 2 (seq), in elements of 2 bytes, is not"));
  at("v").strides[2] = 72;
  at("v").strides[1] = lenKv * 72;
  at("v").strides[0] = 2 * lenKv * 72;
  EXPECT_EQ(run(), "");
}

TEST_F(PlanTensors, StridesOfSizeOneDimensionsDoNotMatter) {
  sizes.batch = 1;
  for (TensorBinding &binding : bindings) {
    binding.tensor.shape[0] = 1;
    binding.tensor.strides[0] = 3; // PyTorch leaves anything there.
  }
  EXPECT_EQ(run(), "");
}

TEST_F(PlanTensors, BadStridesAndPointers) {
  at("q").strides[2] = -64;
  EXPECT_THAT(run(), HasSubstr("stride -64 of dimension 2 (seq) is negative"));
  SetUp();
  at("o").strides[0] = 0;
  EXPECT_THAT(run(), HasSubstr("tensor 'o': stride of dimension 0 (batch) is 0"));
  SetUp();
  at("k").strides[0] = 0; // One cache shared by the batch.
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  at("k").address = 0;
  EXPECT_EQ(run(), "tensor 'k': the address is null");
  SetUp();
  at("k").strides[0] = (std::int64_t(1) << 62) + 8;
  EXPECT_THAT(run(), HasSubstr("leave the 64-bit address space"));
  at("k").strides[0] = std::numeric_limits<std::int64_t>::max() - 7;
  EXPECT_THAT(run(), HasSubstr("leave the 64-bit address space"));
}

TEST_F(PlanTensors, S14_AViewBeyondItsMemoryIsRefused) {
  const std::uint64_t bytes = batch * 2 * lenKv * 64 * 2;
  at("k").extentBytes = bytes;
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  at("k").extentBytes = bytes - 1;
  EXPECT_EQ(run(),
            "tensor 'k': its shape and strides reach over 12288 bytes, its memory has 12287");
}

TEST_F(PlanTensors, S11_PackedBuffersMayHoldMoreTokensThanTheSequences) {
  package.problem.seq = "varlen";
  package.kernels[0].params.push_back(tensorParam("cu_seqlens_q", DataType::I32, 1));
  sizes.batch = 3;
  sizes.totalQ = 200;
  sizes.totalKv = 100;
  sizes.maxLenQ = sizes.maxLenKv = 128;
  const auto packed = [](std::uint64_t address, std::int64_t heads, std::int64_t tokens) {
    return TensorView(address, DataType::BF16, {1, heads, tokens, 64}, {7, 64, heads * 64, 1});
  };
  bindings = {{"q", packed(0x1000, 4, 256)},
              {"k", packed(0x2000, 2, 100)},
              {"v", packed(0x3000, 2, 100)},
              {"o", packed(0x4000, 4, 256)},
              {"lse", TensorView::contiguous(0x5000, DataType::F32, {1, 4, 256})},
              {"cu_seqlens_q", TensorView::contiguous(0x6000, DataType::I32, {4})}};
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  at("k").shape[2] = 99;
  EXPECT_EQ(run(), "tensor 'k': dimension 2 (seq) is 99; this plan needs 100 or more");
  at("k").shape[2] = 100;
  at("cu_seqlens_q").shape[0] = 3;
  EXPECT_EQ(run(), "tensor 'cu_seqlens_q': dimension 0 is 3; this plan needs 4");
}

TEST_F(PlanTensors, PagedPoolsAndTables) {
  package.problem.seq = "kv_lens";
  package.problem.pageSize = 16;
  package.kernels[0].params.push_back(tensorParam("block_table", DataType::I32, 2));
  package.kernels[0].params.push_back(tensorParam("kv_lens", DataType::I32, 1));
  bindings[1].tensor = TensorView::contiguous(0x2000, DataType::BF16, {100, 2, 16, 64});
  bindings[2].tensor = bindings[1].tensor;
  bindings.push_back({"block_table", TensorView::contiguous(0x6000, DataType::I32, {batch, 2})});
  bindings.push_back({"kv_lens", TensorView::contiguous(0x7000, DataType::I32, {batch})});
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  at("block_table").shape[1] = 1; // 24 tokens need 2 pages of 16.
  EXPECT_EQ(run(), "tensor 'block_table': dimension 1 is 1; this plan needs 2 or more");
  at("block_table").shape[1] = 2;
  at("k").shape[2] = 32;
  EXPECT_EQ(run(), "tensor 'k': dimension 2 (seq) is 32; this plan needs 16");
  sizes.maxPages = 1;
  EXPECT_THAT(run(),
              HasSubstr("max_pages is 1, room for 16 tokens in pages of 16; max_len_kv is 24"));
}

TEST_F(PlanTensors, C6_BiasBroadcastsByStrideOrBySizeOne) {
  package.kernels[0].params.push_back(tensorParam("bias", DataType::F32, 4, false));
  const std::size_t first = 4 * 4 + 3 + 3 + 1;
  bindings.push_back(
      {"bias", TensorView(0x8000, DataType::F32, {batch, 4, lenQ, lenKv}, {lenKv, 0, 0, 1})});
  ASSERT_EQ(run(), "");
  EXPECT_EQ(launcher->launches[0].word(first + 1), std::uint64_t(lenKv));
  EXPECT_EQ(launcher->launches[0].word(first + 2), 0u);
  EXPECT_EQ(launcher->launches[0].word(first + 4), 1u);
  launcher->launches.clear();
  at("bias") = TensorView::contiguous(0x8000, DataType::F32, {batch, 1, 1, lenKv});
  ASSERT_EQ(run(), "");
  EXPECT_EQ(launcher->launches[0].word(first + 1), std::uint64_t(lenKv));
  EXPECT_EQ(launcher->launches[0].word(first + 2), 0u);
  EXPECT_EQ(launcher->launches[0].word(first + 3), 0u);
  EXPECT_EQ(launcher->launches[0].word(first + 4), 1u);
  launcher->launches.clear();
  at("bias").shape[1] = 3;
  EXPECT_EQ(run(), "tensor 'bias': dimension 1 is 3; this plan needs 4 (or 1, to broadcast)");
}

TEST_F(PlanTensors, TensorArgumentsFollowTheManifestsShape) {
  ParamDesc slopes = tensorParam("arg.slopes", DataType::F32, 1);
  slopes.shape = {Expression::symbol("heads_q")};
  package.kernels[0].params.push_back(slopes);
  package.kernels[0].params.push_back(tensorParam("arg.free", DataType::I32, 2));
  bindings.push_back({"arg.slopes", TensorView::contiguous(0x6000, DataType::F32, {4})});
  bindings.push_back({"arg.free", TensorView::contiguous(0x7000, DataType::I32, {5, 6})});
  EXPECT_EQ(run(), "");
  launcher->launches.clear();
  at("arg.slopes").shape[0] = 5;
  EXPECT_EQ(run(), "tensor 'arg.slopes': dimension 0 is 5; this plan needs 4");
}

TEST_F(PlanTensors, AManifestCanAskForLessAlignment) {
  package.kernels[0].params[0].align = 2;
  at("q").address += 2;
  EXPECT_EQ(run(), "");
}

} // namespace
