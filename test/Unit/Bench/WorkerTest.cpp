// The worker protocol against a fake worker: answers, crashes, hangs, and what each costs.
#include "Families.h"
#include "WorkerPeers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::HasSubstr;

namespace {

struct FakeChecker : OutputChecker {
  Result<Json> check(const Config &, const std::string &bytes) override {
    seen = bytes;
    return Json{{"pass", bytes != "result of wrong"}, {"why", "not equal"}};
  }
  std::string seen;
};

struct WorkerTest : testing::Test {
  std::unique_ptr<Implementation> peer(const char *id) {
    return makeWorkerPeer(id, "prefill", "", worker, &checker, settings);
  }
  /// The refusal of preparing \p id, which must refuse.
  Refusal refused(const char *id) {
    auto result = peer(id)->prepare(Config(), incorrect);
    if (auto *refusal = std::get_if<Refusal>(&result))
      return *refusal;
    ADD_FAILURE() << id << " was not refused";
    return {};
  }

  std::shared_ptr<Worker> worker = std::make_shared<Worker>(std::vector<std::string>{
      "python3", "-u", ATTNC_SOURCE_DIR "/test/Unit/Bench/fake_worker.py"});
  FakeChecker checker;
  WorkerSettings settings = [] {
    WorkerSettings s;
    s.prepareSeconds = 20;
    s.sampleSeconds = 20;
    return s;
  }();
  Json incorrect = nullptr;
};

} // namespace

TEST_F(WorkerTest, PreparesChecksAndSamples) {
  auto implementation = peer("good");
  auto result = implementation->prepare(Config(), incorrect);
  ASSERT_TRUE(std::holds_alternative<Prepared>(result)) << std::get<Refusal>(result).reason;
  Prepared &p = std::get<Prepared>(result);
  EXPECT_EQ(checker.seen, "result of good");
  EXPECT_EQ(p.setupUs, 5.5);
  EXPECT_EQ(p.measuredMib, 12.5);
  EXPECT_EQ(p.dispatch["observed"], "pytorch-flash");
  auto samples = p.timed->sample(7);
  ASSERT_TRUE(std::holds_alternative<std::vector<double>>(samples));
  EXPECT_EQ(std::get<std::vector<double>>(samples).size(), 7u);
}

TEST_F(WorkerTest, RefusalsKeepTheirStatusAndReason) {
  EXPECT_EQ(refused("unsupported").status, "UNSUPPORTED");
  EXPECT_EQ(refused("oom").status, "OOM");
  EXPECT_EQ(worker->generation(), 1) << "a refusal does not cost the worker";
}

TEST_F(WorkerTest, AWrongOutputIsIncorrect) {
  EXPECT_EQ(refused("wrong").status, "INCORRECT");
  EXPECT_EQ(incorrect["pass"], false);
}

TEST_F(WorkerTest, ACrashIsOneErrorWithItsSignalAndLastWords) {
  const Refusal r = refused("crash");
  EXPECT_EQ(r.status, "ERROR");
  EXPECT_THAT(r.reason, HasSubstr("signal 11"));
  EXPECT_THAT(r.reason, HasSubstr("something broke"));
  const Refusal e = refused("exit");
  EXPECT_THAT(e.reason, HasSubstr("exit 3: ModuleNotFoundError"));
  auto after = peer("good")->prepare(Config(), incorrect);
  EXPECT_TRUE(std::holds_alternative<Prepared>(after)) << "the next one gets a new worker";
}

TEST_F(WorkerTest, AHangIsATimeoutAndTheWorkerIsKilled) {
  settings.prepareSeconds = 1;
  const Refusal r = refused("hang");
  EXPECT_EQ(r.status, "TIMEOUT");
  EXPECT_FALSE(worker->running());
}

TEST_F(WorkerTest, BrokenProtocolIsAnError) {
  EXPECT_EQ(refused("garbage").status, "ERROR");
  EXPECT_THAT(refused("protocol").reason, HasSubstr("breaks the protocol"));
  EXPECT_THAT(refused("nooutput").reason, HasSubstr("left no output"));
}

TEST_F(WorkerTest, OthersSurviveTheWorkerThatOneTookDown) {
  auto good = peer("good");
  auto result = good->prepare(Config(), incorrect);
  ASSERT_TRUE(std::holds_alternative<Prepared>(result));
  Prepared &p = std::get<Prepared>(result);
  const double before = std::get<std::vector<double>>(p.timed->sample(1))[0];
  refused("crash");
  auto again = p.timed->sample(3);
  ASSERT_TRUE(std::holds_alternative<std::vector<double>>(again))
      << std::get<Refusal>(again).reason;
  EXPECT_NE(std::get<std::vector<double>>(again)[0], before) << "another process";
}

TEST_F(WorkerTest, AMissingProgramIsAnError) {
  worker = std::make_shared<Worker>(std::vector<std::string>{"no-such-python"});
  const Refusal r = refused("good");
  EXPECT_EQ(r.status, "ERROR");
  EXPECT_THAT(r.reason, HasSubstr("No such file"));
}

TEST_F(WorkerTest, APluginIsRepeatedByItsPath) {
  EXPECT_EQ(makeWorkerPeer("mine", "", "/a/b.py:run", worker, nullptr, {})->argument(),
            "mine=/a/b.py:run");
  EXPECT_EQ(peer("good")->argument(), "good");
}

TEST(WorkerReal, WithoutTorchOrGpuThePeersSayWhy) {
  auto worker = std::make_shared<Worker>(
      std::vector<std::string>{"python3", "-u", ATTNC_SOURCE_DIR "/bench/peers/worker.py"});
  auto peer = makeWorkerPeer("P2c-sdpa-flash", "prefill", "", worker, nullptr, {});
  Json incorrect;
  auto result = peer->prepare(Config(), incorrect);
  if (std::holds_alternative<Prepared>(result))
    GTEST_SKIP() << "this machine has torch and a GPU";
  EXPECT_EQ(std::get<Refusal>(result).status, "UNSUPPORTED");
  EXPECT_THAT(std::get<Refusal>(result).reason, HasSubstr("torch"));
}
