// Plans: sizes, workspace, kernel parameters, launches; on a launcher that records.
#include "attnc/Runtime/Plan.h"
#include "RecordingLauncher.h"
#include "TestPackages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

using namespace attnc::rt;
using namespace attnc::rt::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

std::shared_ptr<const Package> shared(Package package) {
  return std::make_shared<const Package>(std::move(package));
}

Result<Plan> planOf(const Package &package, const ProblemSizes &sizes,
                    std::shared_ptr<Launcher> launcher = nullptr) {
  return Plan::create(shared(package), std::move(launcher), sizes);
}

ProblemSizes prefillSizes(std::int64_t batch, std::int64_t lenQ, std::int64_t lenKv) {
  ProblemSizes sizes;
  sizes.batch = batch;
  sizes.maxLenQ = lenQ;
  sizes.maxLenKv = lenKv;
  return sizes;
}

ProblemSizes decodeSizes(std::int64_t batch, std::int64_t lenKv, std::int64_t splits) {
  ProblemSizes sizes = prefillSizes(batch, 1, lenKv);
  sizes.splits = splits;
  return sizes;
}

struct PrefillTensors {
  std::vector<TensorBinding> bindings;

  /// Tensors of prefillPackage(), contiguous in [batch, head, seq, dim].
  PrefillTensors(std::int64_t batch, std::int64_t lenQ, std::int64_t lenKv) {
    const auto bf16 = [](std::uint64_t address, std::initializer_list<std::int64_t> shape) {
      return TensorView::contiguous(address, DataType::BF16, shape);
    };
    bindings = {{"q", bf16(0x1000, {batch, 4, lenQ, 64})},
                {"k", bf16(0x2000, {batch, 2, lenKv, 64})},
                {"v", bf16(0x3000, {batch, 2, lenKv, 64})},
                {"o", bf16(0x4000, {batch, 4, lenQ, 64})},
                {"lse", TensorView::contiguous(0x5000, DataType::F32, {batch, 4, lenQ})}};
  }
  TensorView &operator[](std::string_view name) {
    for (TensorBinding &binding : bindings)
      if (binding.name == name)
        return binding.tensor;
    throw std::out_of_range(std::string(name));
  }
  Status run(const Plan &plan, std::vector<ScalarBinding> scalars = {}) {
    return plan.run(bindings.data(), bindings.size(), scalars.data(), scalars.size(), 0, 0,
                    nullptr);
  }
};

TEST(Plan, ParametersFollowTheManifest) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(prefillPackage(), prefillSizes(2, 300, 200), launcher);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->workspaceBytes(), 0u);
  EXPECT_EQ(plan->grid(0), 2 * 4 * 3);
  ASSERT_TRUE(PrefillTensors(2, 300, 200).run(*plan).ok());
  ASSERT_EQ(launcher->launches.size(), 1u);
  EXPECT_EQ(launcher->begins, 1);
  EXPECT_EQ(launcher->ends, 1);
  const RecordedLaunch &launch = launcher->launches[0];
  EXPECT_EQ(launch.request.grid, 24);
  EXPECT_EQ(launch.request.block, 128);
  EXPECT_EQ(launch.request.sharedBytes, 49152);
  // Four tensors of pointer and three strides, lse of pointer and two, three integers, the scale.
  ASSERT_EQ(launch.request.paramCount, 4u * 4 + 3 + 3 + 1);
  EXPECT_EQ(launch.word(0), 0x1000u);
  EXPECT_EQ(launch.word(1), 4u * 300 * 64);
  EXPECT_EQ(launch.word(2), 300u * 64);
  EXPECT_EQ(launch.word(3), 64u);
  EXPECT_EQ(launch.word(4), 0x2000u);
  EXPECT_EQ(launch.word(5), 2u * 200 * 64);
  EXPECT_EQ(launch.word(16), 0x5000u);
  EXPECT_EQ(launch.word(17), 4u * 300);
  EXPECT_EQ(launch.word(18), 300u);
  EXPECT_EQ(launch.i32(19), 2);
  EXPECT_EQ(launch.i32(20), 300);
  EXPECT_EQ(launch.i32(21), 200);
  EXPECT_FLOAT_EQ(launch.f32(22), 0.125f);
}

TEST(Plan, ScaleCanBeBound) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(prefillPackage(), prefillSizes(1, 8, 8), launcher);
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(PrefillTensors(1, 8, 8).run(*plan, {{"scale", 0.5}}).ok());
  EXPECT_FLOAT_EQ(launcher->launches[0].f32(22), 0.5f);
  ASSERT_TRUE(PrefillTensors(1, 8, 8).run(*plan, {{"scale", 2}}).ok());
  EXPECT_FLOAT_EQ(launcher->launches[1].f32(22), 2.0f);
}

TEST(Plan, WorkspaceIsAlignedContiguousAndShared) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(decodePackage(), decodeSizes(3, 1000, 5), launcher);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const std::uint64_t oPart = 5 * 24 * 1 * 64 * 4; // A multiple of 256.
  const std::uint64_t lsePart = (5 * 24 * 4 + 255) / 256 * 256;
  EXPECT_EQ(plan->workspaceBytes(), oPart + lsePart);
  EXPECT_THAT(plan->scalars(), ElementsAre("arg.cap", "arg.win"));
  ASSERT_EQ(plan->tensors().size(), 5u);
  EXPECT_EQ(plan->tensors()[3].name, "kv_lens");
  EXPECT_EQ(plan->tensors()[4].name, "o");
  EXPECT_TRUE(plan->tensors()[4].output);
  const auto bf16 = [](std::uint64_t address, std::initializer_list<std::int64_t> shape) {
    return TensorView::contiguous(address, DataType::BF16, shape);
  };
  void *stream = reinterpret_cast<void *>(0x77);
  const Status status =
      plan->run({{"q", bf16(0x1000, {3, 8, 1, 64})},
                 {"k", bf16(0x2000, {3, 2, 4096, 64})},
                 {"v", bf16(0x3000, {3, 2, 4096, 64})},
                 {"kv_lens", TensorView::contiguous(0x4000, DataType::I32, {3})},
                 {"o", bf16(0x5000, {3, 8, 1, 64})}},
                {{"arg.cap", 30.0}, {"arg.win", -7}}, 0x10000, plan->workspaceBytes(), stream);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(launcher->launches.size(), 2u);
  const RecordedLaunch &main = launcher->launches[0];
  EXPECT_EQ(main.request.kernel, 0u);
  EXPECT_EQ(main.request.grid, 5 * 3 * 2);
  EXPECT_EQ(main.request.stream, stream);
  // q, k, v of 4 each, kv_lens of 1, then o_part.
  EXPECT_EQ(main.word(12), 0x4000u);
  EXPECT_EQ(main.word(13), 0x10000u);
  EXPECT_EQ(main.word(14), 24u * 64);
  EXPECT_EQ(main.word(15), 64u);
  EXPECT_EQ(main.word(16), 64u);
  EXPECT_EQ(main.word(17), 0x10000u + oPart);
  EXPECT_EQ(main.word(18), 24u);
  EXPECT_EQ(main.i32(19), 5);
  EXPECT_FLOAT_EQ(main.f32(20), 30.0f);
  EXPECT_EQ(main.i32(21), -7);
  const RecordedLaunch &combine = launcher->launches[1];
  EXPECT_EQ(combine.request.kernel, 1u);
  EXPECT_EQ(combine.request.grid, 24);
  EXPECT_EQ(combine.request.sharedBytes, 0);
  EXPECT_EQ(combine.word(0), 0x10000u);
  EXPECT_EQ(combine.word(4), 0x10000u + oPart);
}

TEST(Plan, WorkspaceErrors) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(decodePackage(), decodeSizes(1, 1000, 2), launcher);
  ASSERT_TRUE(plan.ok());
  const auto bf16 = [](std::initializer_list<std::int64_t> shape) {
    return TensorView::contiguous(0x1000, DataType::BF16, shape);
  };
  const auto run = [&](std::uint64_t workspace, std::uint64_t size) {
    return plan
        ->run({{"q", bf16({1, 8, 1, 64})},
               {"k", bf16({1, 2, 1000, 64})},
               {"v", bf16({1, 2, 1000, 64})},
               {"kv_lens", TensorView::contiguous(0x4000, DataType::I32, {1})},
               {"o", bf16({1, 8, 1, 64})}},
              {{"arg.cap", 30.0}, {"arg.win", 4}}, workspace, size, nullptr)
        .message();
  };
  EXPECT_THAT(run(0x10000, 100), HasSubstr("has 100 bytes; this plan needs"));
  EXPECT_THAT(run(0, plan->workspaceBytes()), HasSubstr("null"));
  EXPECT_THAT(run(0x10010, plan->workspaceBytes()), HasSubstr("256-byte aligned"));
  EXPECT_TRUE(launcher->launches.empty());
  EXPECT_EQ(run(0x10000, plan->workspaceBytes()), "");
}

TEST(Plan, ScalarErrors) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(decodePackage(), decodeSizes(0, 1000, 2), launcher);
  ASSERT_TRUE(plan.ok());
  const auto bf16 = [](std::initializer_list<std::int64_t> shape) {
    return TensorView::contiguous(0, DataType::BF16, shape);
  };
  const auto run = [&](std::initializer_list<ScalarBinding> scalars) {
    return plan
        ->run({{"q", bf16({0, 8, 1, 64})},
               {"k", bf16({0, 2, 1000, 64})},
               {"v", bf16({0, 2, 1000, 64})},
               {"kv_lens", TensorView::contiguous(0, DataType::I32, {0})},
               {"o", bf16({0, 8, 1, 64})}},
              scalars, 0, 0, nullptr)
        .message();
  };
  EXPECT_EQ(run({{"arg.cap", 1.0}, {"arg.win", 1}}), "");
  EXPECT_THAT(run({{"arg.cap", 1.0}}), HasSubstr("'arg.win' is not bound"));
  EXPECT_THAT(run({{"arg.cap", 1.0}, {"arg.win", 1}, {"arg.wim", 1}}),
              HasSubstr("'arg.wim' is not one of this kernel's: arg.cap, arg.win"));
  EXPECT_THAT(run({{"arg.cap", 1.0}, {"arg.win", 1}, {"arg.win", 1}}), HasSubstr("bound twice"));
  EXPECT_THAT(run({{"arg.cap", 1.0}, {"arg.win", 1.5}}), HasSubstr("takes an integer"));
  EXPECT_THAT(run({{"arg.cap", 1.0}, {"arg.win", std::int64_t(1) << 40}}), HasSubstr("32 bits"));
  EXPECT_THAT(run({{"arg.cap", 1.0}, {"arg.win", 1}, {"scale", 1.0}}),
              HasSubstr("fixed when it was compiled"));
}

TEST(Plan, S9_EmptyProblemsSucceedWithoutALaunch) {
  auto launcher = std::make_shared<RecordingLauncher>();
  for (const auto &[batch, lenQ] : {std::pair{0, 16}, std::pair{2, 0}}) {
    Result<Plan> plan = planOf(prefillPackage(), prefillSizes(batch, lenQ, 16), launcher);
    ASSERT_TRUE(plan.ok());
    PrefillTensors tensors(batch, lenQ, 16);
    for (const char *name : {"q", "o", "lse"})
      tensors[name].address = 0; // What an empty tensor's pointer often is.
    const Status status = tensors.run(*plan);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(launcher->launches.empty());
  // An empty split problem needs no workspace either.
  EXPECT_EQ(planOf(decodePackage(), decodeSizes(0, 64, 4))->workspaceBytes(), 0u);
}

TEST(Plan, E3_NoKeysStillLaunches) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(prefillPackage(), prefillSizes(2, 16, 0), launcher);
  ASSERT_TRUE(plan.ok());
  PrefillTensors tensors(2, 16, 0);
  tensors["k"].address = tensors["v"].address = 0;
  ASSERT_TRUE(tensors.run(*plan).ok());
  EXPECT_EQ(launcher->launches.size(), 1u);
}

TEST(Plan, A3_LargeBatchTimesHeadsIsOneGridDimension) {
  EXPECT_EQ(planOf(prefillPackage(), prefillSizes(70000, 16, 16))->grid(0), 280000);
  const Status status = planOf(prefillPackage(), prefillSizes(1 << 30, 1, 1)).status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), HasSubstr("CUDA allows 0 to 2147483647"));
}

TEST(Plan, SizesOutOfRangeAreNamed) {
  const auto error = [](const ProblemSizes &sizes) {
    return planOf(prefillPackage(), sizes).status().message();
  };
  EXPECT_THAT(error(prefillSizes(-1, 1, 1)), HasSubstr("size batch is -1"));
  EXPECT_THAT(error(prefillSizes(1, -5, 1)), HasSubstr("max_len_q is -5"));
  EXPECT_THAT(error(prefillSizes(1, 1, std::int64_t(1) << 31)),
              HasSubstr("max_len_kv is 2147483648"));
  EXPECT_THAT(error(prefillSizes(1 << 20, 1 << 20, 1)), HasSubstr("total_q"));
  ProblemSizes sizes = prefillSizes(1, 1, 1);
  sizes.splits = 2;
  EXPECT_THAT(error(sizes), HasSubstr("does not split the KV range"));
  sizes = decodeSizes(1, 100, 1);
  sizes.maxLenQ = 9;
  const Status tooLong = planOf(decodePackage(), sizes).status();
  EXPECT_EQ(tooLong.code(), StatusCode::Unsupported);
  EXPECT_THAT(tooLong.message(), HasSubstr("query lengths up to 8"));
}

TEST(Plan, WorkspaceBeyond64BitsIsAnError) {
  Package package = decodePackage();
  package.workspace[0].shape = {Expression(std::int64_t(1) << 40),
                                Expression(std::int64_t(1) << 40)};
  package.kernels[0].params[4].rank = package.kernels[1].params[0].rank = 2;
  EXPECT_EQ(planOf(package, decodeSizes(1, 64, 1)).status().code(), StatusCode::OutOfMemory);
  package.workspace[0].shape = {-1, 4};
  EXPECT_THAT(planOf(package, decodeSizes(1, 64, 1)).status().message(),
              HasSubstr("dimension 0 is -1"));
}

TEST(Plan, SplitsAreChosenFromTheDevice) {
  const auto chosen = [](std::int64_t batch, std::int64_t lenKv, int multiprocessors) {
    Result<Plan> plan = planOf(decodePackage(), decodeSizes(batch, lenKv, 0),
                               std::make_shared<RecordingLauncher>(multiprocessors));
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan ? plan->splits() : -1;
  };
  EXPECT_EQ(chosen(1, 65536, 132), 128);  // 264 blocks wanted, 2 without splitting; capped.
  EXPECT_EQ(chosen(16, 65536, 132), 9);   // 264 / 32.
  EXPECT_EQ(chosen(1, 700, 132), 3);      // No part shorter than 256 keys.
  EXPECT_EQ(chosen(1024, 65536, 132), 1); // Enough blocks as it is.
  EXPECT_EQ(chosen(0, 0, 132), 1);
  EXPECT_EQ(chosen(1, 65536, 0), 1); // Device not known.
  EXPECT_EQ(
      planOf(prefillPackage(), prefillSizes(1, 8, 8), std::make_shared<RecordingLauncher>(132))
          ->splits(),
      1);
}

TEST(Plan, PackagesTheRuntimeDoesNotUnderstandAreRefused) {
  Package package = prefillPackage();
  package.kernels[0].params.push_back(scalarParam("mystery", ParamKind::I32));
  EXPECT_THAT(planOf(package, prefillSizes(1, 8, 8)).status().message(),
              HasSubstr("scalar parameter 'mystery' is not known"));
  package = prefillPackage();
  package.kernels[0].params[0].rank = 3;
  EXPECT_THAT(planOf(package, prefillSizes(1, 8, 8)).status().message(),
              HasSubstr("'q' has rank 3, its name means rank 4"));
  package = decodePackage();
  package.kernels[1].params[0].dtype = DataType::BF16;
  EXPECT_THAT(planOf(package, decodeSizes(1, 8, 1)).status().message(),
              HasSubstr("'o_part' is bf16 of rank 4, its workspace f32"));
  EXPECT_FALSE(Plan::create(nullptr, nullptr, {}).ok());
}

TEST(Plan, WithoutADeviceItPlansButDoesNotRun) {
  Result<Plan> plan = planOf(prefillPackage(), prefillSizes(1, 8, 8));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(PrefillTensors(1, 8, 8).run(*plan).code(), StatusCode::Environment);
}

TEST(Plan, AFailedLaunchStopsAndStillEnds) {
  auto launcher = std::make_shared<RecordingLauncher>();
  launcher->failAt = 0;
  Package package = prefillPackage();
  package.kernels.push_back(package.kernels[0]);
  Result<Plan> plan = planOf(package, prefillSizes(1, 8, 8), launcher);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(PrefillTensors(1, 8, 8).run(*plan).message(), "planted");
  EXPECT_EQ(launcher->launches.size(), 1u);
  EXPECT_EQ(launcher->ends, 1);
}

TEST(Plan, RunsFromManyThreads) {
  auto launcher = std::make_shared<RecordingLauncher>();
  Result<Plan> plan = planOf(prefillPackage(), prefillSizes(2, 300, 200), launcher);
  ASSERT_TRUE(plan.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&plan, t] {
      for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(PrefillTensors(2, 300, 200).run(*plan, {{"scale", double(t)}}).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(launcher->launches.size(), 800u);
  std::vector<int> perThread(8);
  for (const RecordedLaunch &launch : launcher->launches)
    ++perThread.at(std::size_t(launch.f32(22)));
  EXPECT_THAT(perThread, ::testing::Each(100));
}

TEST(Plan, S14_HostLengthsBeyondTheTensorsAreRefused) {
  ProblemSizes sizes = decodeSizes(2, 10, 1);
  sizes.hostKvLens = {10, 20};
  Status status = planOf(decodePackage(), sizes).status();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("kv_lens[1] is 20; allowed are 0 to max_len_kv, which is 10"));
  sizes.hostKvLens = {10, -1};
  EXPECT_THAT(planOf(decodePackage(), sizes).status().message(), HasSubstr("kv_lens[1] is -1"));
  sizes.hostKvLens = {10};
  EXPECT_THAT(planOf(decodePackage(), sizes).status().message(),
              HasSubstr("1 lengths for a batch of 2"));
  sizes.hostKvLens = {0, 10};
  EXPECT_TRUE(planOf(decodePackage(), sizes).ok());

  Package varlen = prefillPackage();
  varlen.problem.seq = "varlen";
  ProblemSizes packed = prefillSizes(2, 16, 16);
  packed.totalQ = packed.totalKv = 20;
  packed.hostCuSeqlensQ = {0, 5, 20};
  const auto error = [&](std::vector<std::int32_t> offsets) {
    packed.hostCuSeqlensKv = std::move(offsets);
    return planOf(varlen, packed).status().message();
  };
  EXPECT_EQ(error({0, 16, 20}), "");
  EXPECT_THAT(error({0, 16, 21}),
              HasSubstr("cu_seqlens_kv: the last offset is 21; total_kv is 20"));
  EXPECT_THAT(error({0, 17, 20}), HasSubstr("sequence 0 has 17 tokens; max_len_kv is 16"));
  EXPECT_THAT(error({0, 6, 5}), HasSubstr("less than the 6 before it"));
  EXPECT_THAT(error({1, 6, 7}), HasSubstr("cu_seqlens_kv[0] is 1"));
  EXPECT_THAT(error({0, 6}), HasSubstr("2 entries; a batch of 2 has 3"));
}

} // namespace
