// Puts a run together: suite, rows file, machine, implementations, runner.
#include "RunCommand.h"

#include "Catalogue.h"
#include "Command.h"
#include "GpuMachine.h"
#include "HostMachine.h"
#include "Paths.h"
#include "Runner.h"
#include "Spec.h"
#include "WorkerPeers.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::bench {

namespace {

std::atomic<bool> interrupted{false};

void onInterrupt(int) {
  // The second one ends at once: somebody means it.
  if (interrupted.exchange(true))
    _exit(130);
  const char text[] = "\nattn-bench: stopping; what is complete is kept (again to quit now)\n";
  [[maybe_unused]] ssize_t n = write(2, text, sizeof text - 1);
}

int fail(const Status &status) {
  std::fputs(fmt::format("attn-bench: error: {}\n", status.message()).c_str(), stderr);
  return static_cast<int>(status.code());
}

template <typename... T> void out(fmt::format_string<T...> text, T &&...values) {
  std::fputs(fmt::format(text, std::forward<T>(values)...).c_str(), stdout);
}

void say(const std::string &text) { std::fputs(text.c_str(), stderr); }

bool parseShard(const std::string &text, int &i, int &n) {
  char rest;
  return std::sscanf(text.c_str(), "%d/%d%c", &i, &n, &rest) == 2 && n >= 1 && i >= 0 && i < n;
}

std::string newRunId() {
  std::random_device device;
  return fmt::format("{}-{:06x}", utcNow(), device() & 0xffffff);
}

std::string repeatPrefix(const RunArguments &a) {
  const RunArguments d;
  std::string out = "attn-bench run --suite " + shellQuote(a.suite);
  const auto add = [&](const char *flag, const auto &value, const auto &initial) {
    if (value != initial)
      out += fmt::format(" {} {}", flag, value);
  };
  add("--reps", a.reps, d.reps);
  add("--warmup", a.warmup, d.warmup);
  add("--turn", a.turn, d.turn);
  add("--min-samples", a.stop.minSamples, d.stop.minSamples);
  add("--noise", a.stop.noise, d.stop.noise);
  add("--time-cap", a.stop.capSeconds, d.stop.capSeconds);
  add("--seed", a.seed, d.seed);
  add("--device", a.device, d.device);
  if (!a.packages.empty())
    out += " --packages " + shellQuote(a.packages);
  if (a.host)
    out += " --host";
  return out + " -o repeat.jsonl";
}

std::string defaultWorkDirectory() {
  if (const char *cache = getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/attn-bench";
  if (const char *home = getenv("HOME"); home && *home && access(home, W_OK) == 0) {
    mkdir((std::string(home) + "/.cache").c_str(), 0777);
    return std::string(home) + "/.cache/attn-bench";
  }
  return fmt::format("/tmp/attn-bench-{}", getuid());
}

struct Setup {
  std::unique_ptr<Machine> machine;
  std::vector<std::unique_ptr<Implementation>> implementations;
};

Setup makeSetup(const RunArguments &a, const std::vector<Selected> &selected,
                const PackageSource &packages) {
  Setup setup;
  GpuMachine *gpu = nullptr;
  std::string noGpu = "--host was given";
  if (!a.host) {
    Result<std::unique_ptr<GpuMachine>> opened = GpuMachine::open(a.device, a.seed);
    if (opened.ok()) {
      gpu = opened->get();
      setup.machine = std::move(*opened);
    } else {
      noGpu = opened.status().message();
      say(fmt::format("attn-bench: no GPU: {}\n", noGpu));
    }
  }
  if (!gpu)
    setup.machine = makeHostMachine();

  WorkerSettings worker;
  worker.prepareSeconds = a.workerTimeout;
  worker.seed = a.seed;
  if (gpu) {
    worker.l2Bytes = gpu->l2Bytes();
    worker.flushBytes = gpu->flushBytes();
  }
  std::vector<std::string> command;
  std::string noWorker = "--no-peers was given";
  if (!a.noPeers) {
    if (Result<std::string> bench = benchDirectory(); bench.ok())
      command = {workerPython(a.python), "-u", *bench + "/peers/worker.py", "--device",
                 std::to_string(a.device)};
    else
      noWorker = bench.status().message();
  }
  const auto peers = std::make_shared<Worker>(command);

  for (const Selected &s : selected) {
    const std::string regime = s.entry ? s.entry->regime : "";
    const auto refuse = [&](const std::string &reason) {
      setup.implementations.push_back(makeUnavailable(s.id, regime, {"UNSUPPORTED", reason}));
    };
    const bool python = !s.entry || s.entry->backing == Backing::Python;
    if (python && command.empty()) {
      refuse(noWorker);
    } else if (python && !gpu) {
      refuse(fmt::format("needs a GPU ({}){}{}", noGpu, s.entry ? "; on a machine with one: " : "",
                         s.entry ? s.entry->needs : ""));
    } else if (python) {
      // A plug-in is somebody's experiment: a process of its own, so that its faults stay there.
      const auto process = s.entry ? peers : std::make_shared<Worker>(command);
      setup.implementations.push_back(makeWorkerPeer(s.id, regime, s.plugin, process, gpu, worker));
    } else if (gpu) {
      setup.implementations.push_back(gpu->make(*s.entry, packages));
    } else if (s.entry->backing == Backing::Attnc) {
      setup.implementations.push_back(
          makeHostImplementation(s.id, regime, packages.compiler, packages.workDirectory));
    } else {
      refuse(fmt::format("needs a GPU ({})", noGpu));
    }
  }
  return setup;
}

} // namespace

int runCommandLine(const RunArguments &a) {
  Result<Suite> suite = findSuite(a.suite);
  if (!suite.ok())
    return fail(suite.status());
  Result<std::vector<Selected>> selected = selectImplementations(a.implementations);
  if (!selected.ok())
    return fail(selected.status());
  int shard = 0, shards = 1;
  if (!a.shard.empty() && !parseShard(a.shard, shard, shards))
    return fail({StatusCode::InvalidArgument,
                 fmt::format("--shard {}: allowed i/n with 0 <= i < n", a.shard)});
  if (a.reps < 1 || a.turn < 1 || a.warmup < 0)
    return fail({StatusCode::InvalidArgument, "--reps and --turn are at least 1, --warmup 0"});

  RunOptions options;
  options.cells = shardCells(suite->cells.size(), shard, shards);
  if (!a.only.empty()) {
    options.cells = a.only;
    for (std::size_t k : a.only)
      if (k >= suite->cells.size())
        return fail(
            {StatusCode::InvalidArgument, fmt::format("--only {}: suite {} has cells 0 to {}", k,
                                                      a.suite, suite->cells.size() - 1)});
  }
  const std::string output =
      !a.output.empty() ? a.output : fmt::format("attn-bench-{}.jsonl", suite->name);
  Result<std::unique_ptr<RowFile>> rows = RowFile::open(output, a.resume, a.runId);
  if (!rows.ok())
    return fail(rows.status());
  if ((*rows)->tornBytes())
    say(fmt::format("attn-bench: note: {}: cut off a last line of {} bytes that was not "
                    "complete; its repetition is measured again\n",
                    output, (*rows)->tornBytes()));
  options.header.runId = (*rows)->runId().empty() ? newRunId() : (*rows)->runId();
  options.header.shard = a.shard;
  options.reps = a.reps;
  options.warmup = a.warmup;
  options.turn = a.turn;
  options.stop = a.stop;
  options.repeatPrefix = repeatPrefix(a);

  PackageSource packages;
  packages.prebuilt = a.packages;
  packages.workDirectory = a.workDirectory.empty() ? defaultWorkDirectory() : a.workDirectory;
  packages.compiler = findTool("attnc");
  std::error_code error;
  std::filesystem::create_directories(packages.workDirectory, error);
  if (error)
    return fail({StatusCode::Environment,
                 fmt::format("cannot make the work directory {}: {}; name another by --work-dir",
                             packages.workDirectory, error.message())});

  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
  Setup setup = makeSetup(a, *selected, packages);
  std::size_t steps = 0;
  for (std::size_t cell : options.cells)
    for (const auto &implementation : setup.implementations) {
      const std::string regime = implementation->regime();
      if (regime.empty() || regime == suite->cells[cell].regime)
        steps += std::size_t(a.reps + 1);
    }
  say(fmt::format("attn-bench: {} cells of suite {} on {}, run {}, rows to {}\n",
                  options.cells.size(), suite->name,
                  setup.machine->gpu()["name"].get<std::string>(), options.header.runId, output));
  Progress progress(steps, isatty(2), say);
  Runner runner(*setup.machine, setup.implementations, **rows, progress, interrupted);
  Result<RunSummary> summary = runner.run(*suite, options);
  setup.implementations.clear();
  if (!summary.ok())
    return fail(summary.status());
  std::string statuses;
  bool incorrect = false;
  for (const auto &[status, count] : summary->statuses) {
    statuses += fmt::format("{}{} {}", statuses.empty() ? "" : ", ", count, status);
    incorrect |= status == "INCORRECT";
  }
  say(fmt::format("attn-bench: {}{} rows in {}{}{}{}\n", summary->interrupted ? "stopped; " : "",
                  summary->rows, output, statuses.empty() ? "" : ": ", statuses,
                  summary->skipped ? fmt::format("; {} were there already", summary->skipped)
                                   : ""));
  if (summary->interrupted) {
    say("attn-bench: go on with --resume\n");
    return 130;
  }
  return a.strict && incorrect ? 4 : 0;
}

int listCommandLine(const ListArguments &a) {
  if (a.suite.empty()) {
    out("suites:\n");
    for (const auto &[name, description] : builtinSuites()) {
      Result<Suite> suite = findSuite(name);
      out("  {:14} {:4} cells  {}\n", name, suite.ok() ? suite->cells.size() : 0, description);
    }
    out("implementations:\n");
    for (const CatalogueEntry &e : catalogue())
      out("  {:20} {:8} {:48} {}\n", e.id, e.regime, e.description, e.needs);
    return 0;
  }
  Result<Suite> suite = findSuite(a.suite);
  if (!suite.ok())
    return fail(suite.status());
  if (a.compileDirectory.empty()) {
    for (std::size_t i = 0; i < suite->cells.size(); ++i)
      out("{:4}  {}\n", i, suite->cells[i].label());
    return 0;
  }
  PackageSource packages;
  packages.workDirectory = a.compileDirectory + "/.work";
  packages.compiler = findTool("attnc");
  std::error_code error;
  std::filesystem::create_directories(packages.workDirectory, error);
  if (error)
    return fail({StatusCode::Environment,
                 fmt::format("cannot make {}: {}", packages.workDirectory, error.message())});
  int status = 0;
  std::vector<std::string> made;
  for (const Config &config : suite->cells) {
    const std::string file = fmt::format("{}.{}.attnpkg", specName(config), a.target);
    bool known = false;
    for (const std::string &m : made)
      known |= m == file;
    if (known)
      continue;
    made.push_back(file);
    Result<std::string> path = packages.path(config, a.target);
    if (!path.ok()) {
      say(fmt::format("attn-bench: {}: {}\n", specName(config), path.status().message()));
      status = static_cast<int>(path.status().code());
      continue;
    }
    if (rename(path->c_str(), (a.compileDirectory + "/" + file).c_str()) == 0)
      out("{}/{}\n", a.compileDirectory, file);
  }
  return status;
}

} // namespace attnc::bench
