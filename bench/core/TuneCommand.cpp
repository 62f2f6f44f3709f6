// Two rounds of the runner for each spec, and the store.
#include "TuneCommand.h"

#include "Command.h"
#include "Runner.h"
#include "Setup.h"
#include "Statistics.h"
#include "TuneJudge.h"
#include "TuneSpace.h"
#include "attnc/Runtime/FileIo.h"
#include "attnc/Runtime/TuningStore.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <unistd.h>

namespace attnc::bench {

namespace {

/// What attnc says of a spec on a target.
struct Explained {
  std::string key;
  std::map<std::string, std::int64_t> chosen;
};

Result<Explained> explain(const std::string &compiler, const std::string &spec,
                          const std::string &target) {
  const CommandResult run = runCommand(
      {compiler, "explain", spec, "--target", target, "--tuning", "none", "--json"}, 120);
  if (run.exitCode != 0)
    return Status(run.exitCode == 3 ? StatusCode::Unsupported : StatusCode::CompileFailed,
                  fmt::format("attnc explain {} --target {}, exit {}: {}", spec, target,
                              run.exitCode, run.lastErrorLine()));
  const Json json = Json::parse(run.standardOutput, nullptr, false);
  if (!json.is_array() || json.size() != 1 || !json[0].contains("tuning_key"))
    return Status(StatusCode::Internal, "attnc explain --json has no tuning_key; is the attnc "
                                        "beside attn-bench of another version?");
  Explained out;
  out.key = json[0]["tuning_key"].get<std::string>();
  for (const auto &item : json[0]["config"].items())
    out.chosen[item.key()] = item.value().get<std::int64_t>();
  return out;
}

/// The cells of one spec and where its rows go.
struct Task {
  std::string spec;
  std::vector<std::size_t> cells;
  bool decode = false;
};

std::string configOf(const std::string &implementation) {
  const std::size_t plus = implementation.find('+');
  std::string config = plus == std::string::npos ? "" : implementation.substr(plus + 1);
  std::replace(config.begin(), config.end(), '+', ',');
  return config;
}

std::string implementationOf(const char *base, std::string config) {
  std::replace(config.begin(), config.end(), ',', '+');
  return std::string(base) + "+" + config;
}

/// The rows of \p runId in \p path.
std::vector<Json> rowsOf(const std::string &path, const std::string &runId) {
  std::vector<Json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Json row = Json::parse(line, nullptr, false);
    if (row.is_object() && row.value("run_id", "") == runId)
      out.push_back(std::move(row));
  }
  return out;
}

TuneTimes timesOf(const std::vector<Json> &rows, const Suite &suite,
                  const std::vector<std::size_t> &cells) {
  TuneTimes out;
  for (const Json &row : rows) {
    if (row["status"] != "OK" || !row["median_us"].is_number())
      continue;
    for (std::size_t cell : cells)
      if (suite.cells[cell].toJson() == row["config"])
        out[row["implementation"].get<std::string>()][cell][row["rep"].get<int>()] =
            row["median_us"].get<double>();
  }
  return out;
}

class Tuner {
public:
  Tuner(const TuneArguments &arguments, const Suite &suite, PackageSource packages,
        std::string store, std::string output)
      : a(arguments), suite(suite), packages(std::move(packages)), store(std::move(store)),
        output(std::move(output)) {}

  Status tune(const Task &task);

private:
  Result<std::vector<Json>> measure(Setup &setup, const Task &task, const std::string &path,
                                    int reps, const StopLimits &stop);
  Status save(const Task &task, const Explained &explained, const std::string &target,
              const std::optional<TuneScore> &winner, const std::vector<TuneScore> &finals,
              const TuneTimes &times, const std::vector<Json> &rows, std::size_t candidates,
              std::size_t refused);

  const TuneArguments &a;
  const Suite &suite;
  PackageSource packages;
  std::string store, output;
};

Result<std::vector<Json>> Tuner::measure(Setup &setup, const Task &task, const std::string &path,
                                         int reps, const StopLimits &stop) {
  RunOptions options;
  options.header.runId = newRunId();
  options.reps = reps;
  options.warmup = a.run.warmup;
  options.turn = a.run.turn;
  options.stop = stop;
  options.cells = task.cells;
  RunArguments repeated = a.run;
  repeated.reps = reps;
  repeated.stop = stop;
  options.repeatPrefix = repeatPrefix(repeated);
  // Rows of earlier tuning stay in the file; a run id of its own keeps this one's apart.
  Result<std::unique_ptr<RowFile>> rows = RowFile::open(path, true, options.header.runId);
  if (!rows.ok())
    return rows.status();
  Progress progress(task.cells.size() * setup.implementations.size() * std::size_t(reps + 1),
                    isatty(2), say);
  Runner runner(*setup.machine, setup.implementations, **rows, progress, interrupted);
  Result<RunSummary> summary = runner.run(suite, options);
  if (!summary.ok())
    return summary.status();
  return rowsOf(path, options.header.runId);
}

Status Tuner::tune(const Task &task) {
  const Config &first = suite.cells[task.cells.front()];
  Result<std::string> text = specText(first);
  if (!text.ok())
    return text.status();
  const std::string specPath = packages.workDirectory + "/" + task.spec + ".yaml";
  if (Status s = rt::writeFileAtomically(specPath, *text); !s.ok())
    return s;

  const char *base = task.decode ? "D5-attnc" : "P5-attnc";
  Setup setup = openMachine(a.run);
  const Json gpu = setup.machine->gpu();
  const bool host = gpu["name"] == "host";
  std::string target = "host";
  if (!host) {
    std::string cc = gpu["cc"].get<std::string>(); // "sm90"
    target = targetOf("sm_" + cc.substr(2));
  }
  Result<Explained> explained = explain(packages.compiler, specPath, target);
  if (!explained.ok())
    return explained.status();
  std::vector<TuneSpace> spaces;
  for (const std::string &space : a.spaces) {
    Result<TuneSpace> parsed = parseTuneSpace(space);
    if (!parsed.ok())
      return parsed.status();
    spaces.push_back(*parsed);
  }
  if (spaces.empty())
    spaces = defaultTuneSpaces(target, task.decode, explained->chosen);
  const std::vector<std::string> candidates = tuneCandidates(spaces, explained->chosen);
  say(fmt::format("attn-bench: tuning {} for {} over {} cells: {} candidates beside attnc's own "
                  "choice\n",
                  task.spec, target, task.cells.size(), candidates.size()));
  if (a.dryRun) {
    for (const std::string &candidate : candidates)
      std::fputs((candidate + "\n").c_str(), stdout);
    return {};
  }
  std::vector<std::string> words = {base};
  for (const std::string &candidate : candidates)
    words.push_back(implementationOf(base, candidate));
  Result<std::vector<Selected>> selected = selectImplementations(words);
  if (!selected.ok())
    return selected.status();
  setup.implementations = makeImplementations(setup, a.run, *selected, packages);

  StopLimits screening = a.run.stop;
  screening.minSamples = std::min(screening.minSamples, 5);
  screening.maxSamples = std::min(screening.maxSamples, 20);
  screening.capSeconds = std::min(screening.capSeconds, 0.3);
  Result<std::vector<Json>> rows = measure(setup, task, output + ".screening.jsonl", 1, screening);
  if (!rows.ok())
    return rows.status();
  if (interrupted)
    return {};
  std::map<std::string, std::string> refusals;
  for (const Json &row : *rows)
    if (row["status"] != "OK")
      refusals[row["implementation"].get<std::string>()] =
          fmt::format("{}: {}", row["status"].get<std::string>(),
                      row["reason"].is_string() ? row["reason"].get<std::string>() : "");
  if (refusals.count(base))
    return Status(
        StatusCode::Environment,
        fmt::format("{}: attnc's own choice could not be measured: {}", task.spec, refusals[base]));
  std::vector<TuneScore> screened = scoreCandidates(timesOf(*rows, suite, task.cells), base);
  std::set<std::string> keep = {base};
  for (const TuneScore &s : screened)
    if (keep.size() <= std::size_t(a.finalists))
      keep.insert(s.implementation);
  std::vector<std::unique_ptr<Implementation>> finalists;
  for (auto &implementation : setup.implementations)
    if (keep.count(implementation->id()))
      finalists.push_back(std::move(implementation));
  setup.implementations = std::move(finalists);

  rows = measure(setup, task, output, a.run.reps, a.run.stop);
  if (!rows.ok())
    return rows.status();
  if (interrupted)
    return {};
  const TuneTimes times = timesOf(*rows, suite, task.cells);
  const std::vector<TuneScore> finals = scoreCandidates(times, base);
  return save(task, *explained, target, tuneWinner(finals, a.margin), finals, times, *rows,
              candidates.size(), refusals.size());
}

Status Tuner::save(const Task &task, const Explained &explained, const std::string &target,
                   const std::optional<TuneScore> &winner, const std::vector<TuneScore> &finals,
                   const TuneTimes &times, const std::vector<Json> &rows, std::size_t candidates,
                   std::size_t refused) {
  const std::string base = task.decode ? "D5-attnc" : "P5-attnc";
  const std::string best = winner ? winner->implementation : base;
  const auto us = [&](const std::string &implementation, std::size_t cell) {
    std::vector<double> all;
    for (const auto &[rep, value] : times.at(implementation).at(cell))
      all.push_back(value);
    return median(all);
  };
  Json cells = Json::array();
  std::string table;
  for (const auto &[cell, repetitions] : times.at(base)) {
    const double ratio = winner ? winner->ratios.at(cell) : 1;
    cells.push_back({{"config", suite.cells[cell].toJson()},
                     {"own_us", us(base, cell)},
                     {"us", us(best, cell)},
                     {"ratio", ratio}});
    table += fmt::format("  {:48} {:10.1f} us -> {:10.1f} us  x {:.3f}\n",
                         suite.cells[cell].label(), us(base, cell), us(best, cell), ratio);
  }
  Json others = Json::array();
  for (const TuneScore &s : finals)
    others.push_back({{"config", configOf(s.implementation)}, {"score", s.score}});
  Json evidence = {{"spec", task.spec},
                   {"own_config", explained.chosen},
                   {"cells", cells},
                   {"finals", others},
                   {"candidates", candidates},
                   {"refused", refused},
                   {"margin", a.margin},
                   {"reps", a.run.reps},
                   {"rows", std::filesystem::absolute(output).string()}};
  for (const Json &row : rows)
    if (row["implementation"] == best && row["status"] == "OK") {
      evidence["run_id"] = row["run_id"];
      evidence["gpu"] = row["gpu"];
      evidence["versions"] = row["versions"];
      for (const char *key : {"clocks", "power_w", "temperature_c", "throttle"})
        if (row.contains(key))
          evidence[key] = row[key];
    }
  std::string repeat = "attn-bench tune --suite " + shellQuote(a.run.suite);
  for (const std::string &space : a.spaces)
    repeat += " --space " + shellQuote(space);
  if (a.run.host)
    repeat += " --host";
  evidence["repeat"] = repeat;
  const Json entry = {{"tuning", 1},
                      {"key", explained.key},
                      {"target", target},
                      {"config", configOf(best)},
                      {"device", rows.front()["gpu"]["name"]},
                      {"time", utcNow()},
                      {"ratio", winner ? winner->score : 1.0},
                      {"evidence", evidence}};
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::path(store).parent_path();
  if (!directory.empty())
    std::filesystem::create_directories(directory, error);
  // One write of one line, so that two tunings at once leave two lines.
  const std::string line = entry.dump() + "\n";
  std::FILE *file = std::fopen(store.c_str(), "a");
  const bool written = file && std::fwrite(line.data(), 1, line.size(), file) == line.size();
  if ((file && std::fclose(file) != 0) || !written)
    return Status(
        StatusCode::Environment,
        fmt::format("cannot append to the tuning store {}; name another by --store", store));
  std::fputs(table.c_str(), stdout);
  std::string verdict = winner
                            ? fmt::format("{} on {}: {} (x {:.3f} of attnc's own choice)",
                                          task.spec, target, configOf(best), winner->score)
                            : fmt::format("{} on {}: attnc's own choice stays", task.spec, target);
  if (!winner && !finals.empty()) {
    const TuneScore &first = finals.front();
    const auto worst =
        std::max_element(first.ratios.begin(), first.ratios.end(),
                         [](const auto &a, const auto &b) { return a.second < b.second; });
    verdict +=
        fmt::format("; the best other is {}, x {:.3f} over the cells and x {:.3f} in the "
                    "worst, cell {}",
                    configOf(first.implementation), first.score, worst->second, worst->first);
  }
  std::fputs((verdict + "\n").c_str(), stdout);
  return {};
}

} // namespace

int tuneCommandLine(const TuneArguments &a) {
  Result<Suite> suite = findSuite(a.run.suite);
  if (!suite.ok())
    return fail(suite.status());
  if (a.finalists < 1 || a.margin < 0 || a.margin >= 1 || a.run.reps < 1 || a.run.turn < 1)
    return fail({StatusCode::InvalidArgument,
                 "--finalists, --reps and --turn are at least 1, --margin is from 0 to below 1"});
  for (const std::string &space : a.spaces)
    if (Result<TuneSpace> parsed = parseTuneSpace(space); !parsed.ok())
      return fail(parsed.status());
  const std::string store = rt::tuningStorePath(a.store);
  if (store.empty())
    return fail({StatusCode::InvalidArgument,
                 "no tuning store to write to: --store or ATTNC_TUNING is 'none', or there is no "
                 "home directory; name a file by --store"});
  Result<PackageSource> packages = makePackageSource(a.run);
  if (!packages.ok())
    return fail(packages.status());
  if (packages->compiler.empty())
    return fail({StatusCode::Environment,
                 "tuning compiles: no attnc executable beside attn-bench or in PATH"});
  std::vector<std::size_t> numbers = a.run.only;
  if (numbers.empty())
    numbers = shardCells(suite->cells.size(), 0, 1);
  std::vector<Task> tasks;
  for (std::size_t number : numbers) {
    if (number >= suite->cells.size())
      return fail(
          {StatusCode::InvalidArgument, fmt::format("--only {}: suite {} has cells 0 to {}", number,
                                                    a.run.suite, suite->cells.size() - 1)});
    const Config &config = suite->cells[number];
    const std::string spec = specName(config);
    auto task =
        std::find_if(tasks.begin(), tasks.end(), [&](const Task &t) { return t.spec == spec; });
    if (task == tasks.end())
      task = tasks.insert(tasks.end(), {spec, {}, config.decode()});
    task->cells.push_back(number);
  }
  // The baseline is the compiler's own choice, not what an earlier tuning stored.
  setenv("ATTNC_TUNING", "none", 1);
  catchInterrupts();
  const std::string output =
      !a.run.output.empty() ? a.run.output : fmt::format("attn-bench-tune-{}.jsonl", suite->name);
  Tuner tuner(a, *suite, *packages, store, output);
  int status = 0;
  for (const Task &task : tasks) {
    if (Status s = tuner.tune(task); !s.ok())
      status = fail(s);
    if (interrupted) {
      say("attn-bench: stopped; nothing was stored for " + task.spec + "\n");
      return 130;
    }
  }
  if (!a.dryRun && status == 0)
    say(fmt::format("attn-bench: stored in {}; attnc compile takes it from there, and attnc "
                    "explain tells\n",
                    store));
  return status;
}

} // namespace attnc::bench
