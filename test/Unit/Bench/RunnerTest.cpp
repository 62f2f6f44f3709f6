// The runner with fake implementations and a fake clock: interleaving, statuses, interruption,
// resuming, and rows that the Python validator accepts.
#include "Runner.h"
#include "Command.h"
#include "TempDir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Samples are \p us; every call moves the clock and is written to the log.
struct Fake {
  std::string id;
  double us = 10;
  std::optional<Refusal> refusal;
  int failAfter = -1; ///< sample() calls before it refuses
  double bytes = 0;
};

struct World {
  double now = 0;
  std::vector<std::string> log;
  double freeMemory = 0;
  std::optional<std::string> lost;
};

class FakeTimed : public Timed {
public:
  FakeTimed(World &world, const Fake &fake) : world(world), fake(fake), left(fake.failAfter) {}
  std::variant<std::vector<double>, Refusal> sample(int count) override {
    world.now += 0.1;
    if (left == 0)
      return Refusal{"TIMEOUT", "hung"};
    --left;
    world.log.push_back(fake.id + std::to_string(count));
    return std::vector<double>(std::size_t(count), fake.us);
  }

private:
  World &world;
  const Fake &fake;
  int left;
};

class FakeImplementation : public Implementation {
public:
  FakeImplementation(World &world, Fake fake) : world(world), fake(std::move(fake)) {}
  const std::string &id() const override { return fake.id; }
  std::string regime() const override { return ""; }
  double predictBytes(const Config &) const override { return fake.bytes; }
  std::variant<Prepared, Refusal> prepare(const Config &, Json &onIncorrect) override {
    if (fake.refusal) {
      if (fake.refusal->status == "INCORRECT")
        onIncorrect = {{"pass", false}, {"max_abs", 1.5}};
      return *fake.refusal;
    }
    Prepared p;
    p.correctness = {{"pass", true}, {"max_abs", 0.001}};
    p.timed = std::make_unique<FakeTimed>(world, fake);
    return p;
  }

private:
  World &world;
  Fake fake;
};

class FakeMachine : public Machine {
public:
  explicit FakeMachine(World &world) : world(world) {}
  Json gpu() const override { return {{"name", "H200"}, {"uuid", "GPU-1"}}; }
  double freeBytes() const override { return world.freeMemory; }
  std::optional<std::string> lost() override { return world.lost; }

private:
  World &world;
};

struct RunnerTest : testing::Test {
  Result<RunSummary> run(std::vector<Fake> fakes, bool resume = false,
                         std::function<void()> between = {}) {
    std::vector<std::unique_ptr<Implementation>> implementations;
    for (Fake &f : fakes)
      implementations.push_back(std::make_unique<FakeImplementation>(world, f));
    FakeMachine machine(world);
    auto rows = RowFile::open(dir.file("rows.jsonl"), resume, "run");
    if (!rows.ok())
      return rows.status();
    Progress progress(100, false, [](const std::string &) {}, [this] { return world.now; });
    Runner runner(machine, implementations, **rows, progress, interrupted, [this, between] {
      if (between)
        between();
      return world.now;
    });
    Suite suite;
    Config c;
    c.n = 16;
    suite.cells = {c};
    options.header.runId = "run";
    options.cells = {0};
    options.repeatPrefix = "attn-bench run --suite x -o y";
    return runner.run(suite, options);
  }

  std::vector<Json> rows() const {
    std::vector<Json> out;
    std::istringstream text(dir.read("rows.jsonl"));
    for (std::string line; std::getline(text, line);)
      out.push_back(Json::parse(line));
    return out;
  }

  TempDir dir;
  World world;
  RunOptions options = [] {
    RunOptions o;
    o.reps = 2;
    o.warmup = 1;
    o.turn = 5;
    o.stop.minSamples = 10;
    o.stop.noise = 0.01;
    o.stop.capSeconds = 100;
    return o;
  }();
  std::atomic<bool> interrupted{false};
};

} // namespace

TEST_F(RunnerTest, ImplementationsOfACellAreInterleavedTurnByTurn) {
  ASSERT_TRUE(run({{"A"}, {"B"}}).ok());
  EXPECT_THAT(world.log, ElementsAre("A1", "B1", "A5", "B5", "A5", "B5", //
                                     "A1", "B1", "A5", "B5", "A5", "B5"));
  const std::vector<Json> out = rows();
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0]["samples_us"].size(), 10u);
  EXPECT_EQ(out[0]["median_us"], 10.0);
  EXPECT_EQ(out[1]["implementation"], "B");
  EXPECT_EQ(out[3]["rep"], 1);
  EXPECT_EQ(out[0]["stop"]["met"], true);
  EXPECT_EQ(out[0]["repeat"], "attn-bench run --suite x -o y --impl A --only 0");
}

TEST_F(RunnerTest, AFailureCostsItsRowAndNotTheOthers) {
  Result<RunSummary> summary =
      run({{"A"}, {"B", 10, {}, 2}, {"C", 10, Refusal{"UNSUPPORTED", "no such GPU"}}});
  ASSERT_TRUE(summary.ok());
  const std::vector<Json> out = rows();
  ASSERT_EQ(out.size(), 4u) << "C once, B once, A twice";
  EXPECT_EQ(out[0]["implementation"], "C");
  EXPECT_EQ(out[0]["status"], "UNSUPPORTED");
  EXPECT_EQ(out[0]["reason"], "no such GPU");
  EXPECT_EQ(out[1]["status"], "OK");
  EXPECT_EQ(out[2]["implementation"], "B");
  EXPECT_EQ(out[2]["status"], "TIMEOUT");
  EXPECT_EQ(out[3]["implementation"], "A");
  EXPECT_EQ(out[3]["rep"], 1);
}

TEST_F(RunnerTest, AWrongResultHasNoSpeed) {
  ASSERT_TRUE(run({{"A", 10, Refusal{"INCORRECT", "off by a mile"}}}).ok());
  const std::vector<Json> out = rows();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]["status"], "INCORRECT");
  EXPECT_TRUE(out[0]["median_us"].is_null());
  EXPECT_EQ(out[0]["correctness"]["pass"], false);
  EXPECT_EQ(out[0]["correctness"]["max_abs"], 1.5);
}

TEST_F(RunnerTest, MemoryIsPredictedBeforeAnythingIsLaunched) {
  world.freeMemory = 1e9;
  ASSERT_TRUE(run({{"A", 10, {}, -1, 2e9}}).ok());
  const std::vector<Json> out = rows();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]["status"], "OOM_PREDICTED");
  EXPECT_THAT(out[0]["reason"].get<std::string>(), HasSubstr("MiB"));
  EXPECT_GT(out[0]["memory"]["predicted_mib"].get<double>(), 1900);
  EXPECT_TRUE(world.log.empty());
}

TEST_F(RunnerTest, AnUnmetStoppingConditionIsInTheRow) {
  options.stop.minSamples = 1000;
  options.stop.capSeconds = 0.35;
  ASSERT_TRUE(run({{"A"}}).ok());
  const Json row = rows().at(0);
  EXPECT_EQ(row["stop"]["met"], false);
  EXPECT_EQ(row["stop"]["unmet"], Json::array({"min_samples"}));
  EXPECT_EQ(row["samples_us"].size(), 20u) << "turns of 0.1 s until 0.35 s are over";
}

TEST_F(RunnerTest, InterruptedKeepsWhatIsCompleteAndResumes) {
  Result<RunSummary> stopped = run({{"A"}, {"B"}}, false, [&] {
    // In the middle of the second repetition.
    interrupted = world.log.size() >= 9;
  });
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->interrupted);
  ASSERT_EQ(rows().size(), 2u);
  interrupted = false;
  world.log.clear();
  ASSERT_TRUE(run({{"A"}, {"B"}}, true).ok());
  EXPECT_THAT(world.log, ElementsAre("A1", "B1", "A5", "B5", "A5", "B5"));
  ASSERT_EQ(rows().size(), 4u);
  world.log.clear();
  Result<RunSummary> again = run({{"A"}, {"B"}}, true);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->skipped, 2u);
  EXPECT_TRUE(world.log.empty());
}

TEST_F(RunnerTest, ALostContextEndsTheRun) {
  world.lost = "illegal address";
  Result<RunSummary> summary = run({{"A", 10, Refusal{"ERROR", "fault"}}, {"B"}});
  ASSERT_FALSE(summary.ok());
  EXPECT_THAT(summary.status().message(), HasSubstr("illegal address"));
  ASSERT_EQ(rows().size(), 1u) << "B is not blamed";
}

TEST_F(RunnerTest, SamplesWithoutANumberAreNull) {
  Fake f{"A"};
  f.us = std::numeric_limits<double>::quiet_NaN();
  options.stop.capSeconds = 0.15;
  ASSERT_TRUE(run({f}).ok());
  EXPECT_TRUE(rows().at(0)["samples_us"][0].is_null());
  EXPECT_TRUE(rows().at(0)["median_us"].is_null());
}

TEST_F(RunnerTest, RowsPassThePythonValidator) {
  const std::string root = ATTNC_SOURCE_DIR;
  const std::string venv = root + "/.venv/bin/python";
  const std::string python = fileExists(venv) ? venv : "python3";
  setenv("PYTHONPATH", (root + "/bench/analysis").c_str(), 1);
  if (runCommand({python, "-c", "import attnc_bench.rows"}, 60).exitCode)
    GTEST_SKIP() << "the analysis packages are not installed; ./dev setup installs them";
  world.freeMemory = 1e9;
  Fake noNumber{"N"};
  noNumber.us = std::numeric_limits<double>::quiet_NaN();
  options.stop.capSeconds = 5;
  options.header.shard = "1/4";
  ASSERT_TRUE(run({{"A", 12.3456789},
                   {"B", 10, {}, 3},
                   {"C", 10, Refusal{"INCORRECT", "wrong"}},
                   {"D", 10, {}, -1, 2e9},
                   {"E", 10, Refusal{"OOM", "full"}},
                   noNumber})
                  .ok());
  const CommandResult merge = runCommand(
      {python, "-m", "attnc_bench", "merge", dir.file("rows.jsonl"), "-o", dir.file("out.jsonl")},
      60);
  EXPECT_EQ(merge.exitCode, 0) << merge.standardError;
  EXPECT_EQ(rows().size(), 2u + 2 + 1 + 1 + 1 + 2);
}
