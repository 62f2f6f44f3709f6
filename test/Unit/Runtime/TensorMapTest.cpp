// Tensor maps of kernels: the manifest, what is encoded, the cache; and the symbol multiprocessors.
#include "RecordingLauncher.h"
#include "TestPackages.h"
#include "attnc/Runtime/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

using namespace attnc::rt;
using namespace attnc::rt::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

Result<Plan> planOf(const Package &package, std::shared_ptr<Launcher> launcher,
                    std::int64_t lenKv = 200) {
  ProblemSizes sizes;
  sizes.batch = 2;
  sizes.maxLenQ = 300;
  sizes.maxLenKv = lenKv;
  return Plan::create(std::make_shared<const Package>(package), std::move(launcher), sizes);
}

struct Tensors {
  TensorView q = TensorView::contiguous(0x1000, DataType::BF16, {2, 4, 300, 64});
  // [batch, seq, head, dim] in memory.
  TensorView k{0x2000, DataType::BF16, {2, 2, 200, 64}, {200 * 128, 64, 128, 1}};
  TensorView v = TensorView::contiguous(0x3000, DataType::BF16, {2, 2, 200, 64});
  TensorView o = TensorView::contiguous(0x4000, DataType::BF16, {2, 4, 300, 64});

  Status run(const Plan &plan) const {
    return plan.run({{"q", q}, {"k", k}, {"v", v}, {"o", o}}, {}, 0, 0, nullptr);
  }
};

TEST(TensorMap, DescribesTheBoundTensorInnermostFirst) {
  auto launcher = std::make_shared<RecordingLauncher>(132);
  Result<Plan> plan = planOf(tensorMapPackage(), launcher);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->tensors().size(), 4u);
  const Status status = Tensors().run(*plan);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(launcher->encoded.size(), 2u);
  const TensorMapRequest &k = launcher->encoded[0];
  EXPECT_EQ(k.address, 0x2000u);
  EXPECT_EQ(k.dtype, DataType::BF16);
  EXPECT_EQ(k.rank, 4);
  EXPECT_THAT(k.dims, ElementsAre(64, 200, 2, 2, 0, 0));
  EXPECT_THAT(k.strideBytes, ElementsAre(256, 128, 200 * 256, 0, 0, 0));
  EXPECT_THAT(k.box, ElementsAre(64, 128, 1, 1, 0, 0));
  EXPECT_EQ(k.swizzle, 128);
  EXPECT_EQ(launcher->encoded[1].address, 0x3000u);
  // The map is one parameter, by value, 64-byte aligned; the tensor beside it is untouched.
  ASSERT_EQ(launcher->launches.size(), 1u);
  const RecordedLaunch &launch = launcher->launches[0];
  ASSERT_EQ(launch.request.paramCount, 4u + 4 + 1 + 1 + 4 + 1);
  EXPECT_EQ(launch.word(4), 0x2000u);
  EXPECT_EQ(launch.word(8), 1u);
  EXPECT_EQ(launch.word(9), 2u);
  EXPECT_EQ(launch.word(10), 0x4000u);
  EXPECT_EQ(launch.i32(14), 2);
}

TEST(TensorMap, IsEncodedOnceForATensor) {
  auto launcher = std::make_shared<RecordingLauncher>(132);
  Result<Plan> plan = planOf(tensorMapPackage(), launcher);
  ASSERT_TRUE(plan.ok());
  Tensors tensors;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(tensors.run(*plan).ok());
  EXPECT_EQ(launcher->encoded.size(), 2u);
  EXPECT_EQ(launcher->launches[2].word(8), 1u);
  // Another address, then other strides: other maps.
  tensors.k.address = 0x8000;
  ASSERT_TRUE(tensors.run(*plan).ok());
  ASSERT_EQ(launcher->encoded.size(), 3u);
  EXPECT_EQ(launcher->launches[3].word(8), 3u);
  tensors.k.strides[0] *= 2;
  ASSERT_TRUE(tensors.run(*plan).ok());
  EXPECT_EQ(launcher->encoded.size(), 4u);
}

TEST(TensorMap, RunsOfManyThreadsGetTheirOwn) {
  auto launcher = std::make_shared<RecordingLauncher>(132);
  Result<Plan> plan = planOf(tensorMapPackage(), launcher);
  ASSERT_TRUE(plan.ok());
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i <= 8; ++i)
    threads.emplace_back([&, i] {
      Tensors tensors;
      tensors.k.address = i * 0x10000;
      for (int repeat = 0; repeat < 50; ++repeat)
        EXPECT_TRUE(tensors.run(*plan).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const RecordedLaunch &launch : launcher->launches)
    EXPECT_EQ(launcher->encoded.at(launch.word(8) - 1).address, launch.word(4));
}

TEST(TensorMap, FailuresLaunchNothingAndAreNotRemembered) {
  auto launcher = std::make_shared<RecordingLauncher>(132);
  launcher->failEncoding = true;
  Result<Plan> plan = planOf(tensorMapPackage(), launcher);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(Tensors().run(*plan).message(), HasSubstr("tensor map 'k'"));
  EXPECT_TRUE(launcher->launches.empty());
  EXPECT_EQ(launcher->begins, launcher->ends);
  launcher->failEncoding = false;
  EXPECT_TRUE(Tensors().run(*plan).ok());
  EXPECT_EQ(launcher->encoded.size(), 3u);
}

TEST(TensorMap, TensorsThatNoMapDescribes) {
  auto launcher = std::make_shared<RecordingLauncher>(132);
  Result<Plan> plan = planOf(tensorMapPackage(), launcher);
  ASSERT_TRUE(plan.ok());
  Tensors tensors;
  tensors.v.address = 0x3008;
  EXPECT_THAT(tensors.run(*plan).message(), HasSubstr("not 16-byte aligned"));
  tensors = {};
  tensors.v.strides[2] = 68;
  EXPECT_THAT(tensors.run(*plan).message(), HasSubstr("not a multiple of 16 bytes"));
  tensors = {};
  tensors.v.strides[0] = std::int64_t(1) << 39;
  EXPECT_THAT(tensors.run(*plan).message(), HasSubstr("takes less than 1099511627776 bytes"));
  EXPECT_TRUE(launcher->launches.empty());
}

TEST(TensorMap, ATensorWithoutRowsIsNotEncoded) {
  auto launcher = std::make_shared<RecordingLauncher>(132);
  Result<Plan> plan = planOf(tensorMapPackage(), launcher, /*lenKv=*/0);
  ASSERT_TRUE(plan.ok());
  Tensors tensors;
  tensors.k.shape[2] = tensors.v.shape[2] = 0;
  const Status status = tensors.run(*plan);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(launcher->encoded.empty());
  ASSERT_EQ(launcher->launches.size(), 1u);
  EXPECT_EQ(launcher->launches[0].word(8), 0u);
}

TEST(TensorMap, SurvivesTheFile) {
  const Package package = tensorMapPackage();
  Result<std::string> bytes = serializePackage(package);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  Result<Package> read = parsePackage(*bytes, "test");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const ParamDesc &map = read->kernels[0].params[2];
  EXPECT_EQ(map.name, "k");
  EXPECT_EQ(map.kind, ParamKind::TensorMap);
  EXPECT_EQ(map.dtype, DataType::BF16);
  EXPECT_EQ(map.rank, 4);
  EXPECT_THAT(map.box, ElementsAre(1, 1, 128, 64));
  EXPECT_EQ(map.swizzle, 128);
}

TEST(TensorMap, TheManifestIsChecked) {
  const auto messageFor = [](void (*change)(ParamDesc &)) {
    Package package = tensorMapPackage();
    change(package.kernels[0].params[2]);
    return package.validate().message();
  };
  EXPECT_EQ(messageFor([](ParamDesc &) {}), "");
  EXPECT_THAT(messageFor([](ParamDesc &map) { map.box[2] = 257; }),
              HasSubstr("kernels[0].params[2].box: 257 is out of range; allowed are 1 to 256"));
  EXPECT_THAT(messageFor([](ParamDesc &map) { map.box.pop_back(); }), HasSubstr("3 extents"));
  EXPECT_THAT(messageFor([](ParamDesc &map) { map.box[3] = 128; }),
              HasSubstr("no longer than the swizzle of 128"));
  EXPECT_THAT(messageFor([](ParamDesc &map) { map.swizzle = 48; }), HasSubstr("swizzle: 48"));
  EXPECT_THAT(messageFor([](ParamDesc &map) { map.dtype = DataType::I64; }), HasSubstr("dtype"));
  EXPECT_THAT(messageFor([](ParamDesc &map) { map.name = "v"; }), HasSubstr("appears twice"));
}

TEST(Multiprocessors, LimitAPersistentGrid) {
  EXPECT_EQ(planOf(tensorMapPackage(), std::make_shared<RecordingLauncher>(10))->grid(0), 10);
  EXPECT_EQ(planOf(tensorMapPackage(), std::make_shared<RecordingLauncher>(132))->grid(0), 24);
  // Without a device nothing limits: a block a tile is right too.
  EXPECT_EQ(planOf(tensorMapPackage(), nullptr)->grid(0), 24);
}

} // namespace
