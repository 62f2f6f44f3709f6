// Machine and implementations from a command line.
#include "Setup.h"

#include "Command.h"
#include "GpuMachine.h"
#include "HostMachine.h"
#include "Paths.h"
#include "Runner.h"
#include "WorkerPeers.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::bench {

std::atomic<bool> interrupted{false};

namespace {

void onInterrupt(int) {
  // The second one ends at once: somebody means it.
  if (interrupted.exchange(true))
    _exit(130);
  const char text[] = "\nattn-bench: stopping; what is complete is kept (again to quit now)\n";
  [[maybe_unused]] ssize_t n = write(2, text, sizeof text - 1);
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

} // namespace

void catchInterrupts() {
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
}

int fail(const Status &status) {
  std::fputs(fmt::format("attn-bench: error: {}\n", status.message()).c_str(), stderr);
  return static_cast<int>(status.code());
}

void say(const std::string &text) { std::fputs(text.c_str(), stderr); }

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

Result<PackageSource> makePackageSource(const RunArguments &a) {
  PackageSource packages;
  packages.prebuilt = a.packages;
  packages.workDirectory = a.workDirectory.empty() ? defaultWorkDirectory() : a.workDirectory;
  packages.compiler = findTool("attnc");
  std::error_code error;
  std::filesystem::create_directories(packages.workDirectory, error);
  if (error)
    return Status(StatusCode::Environment,
                  fmt::format("cannot make the work directory {}: {}; name another by --work-dir",
                              packages.workDirectory, error.message()));
  return packages;
}

Setup openMachine(const RunArguments &a) {
  Setup setup;
  setup.noGpu = "--host was given";
  if (!a.host) {
    Result<std::unique_ptr<GpuMachine>> opened = GpuMachine::open(a.device, a.seed);
    if (opened.ok()) {
      setup.gpu = opened->get();
      setup.machine = std::move(*opened);
    } else {
      setup.noGpu = opened.status().message();
      say(fmt::format("attn-bench: no GPU: {}\n", setup.noGpu));
    }
  }
  if (!setup.gpu)
    setup.machine = makeHostMachine();
  return setup;
}

std::vector<std::unique_ptr<Implementation>>
makeImplementations(const Setup &setup, const RunArguments &a,
                    const std::vector<Selected> &selected, const PackageSource &packages) {
  std::vector<std::unique_ptr<Implementation>> out;
  GpuMachine *const gpu = setup.gpu;
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
      out.push_back(makeUnavailable(s.id, regime, {"UNSUPPORTED", reason}));
    };
    PackageSource withConfig = packages;
    withConfig.config = s.config;
    const bool python = !s.entry || s.entry->backing == Backing::Python;
    if (python && command.empty()) {
      refuse(noWorker);
    } else if (python && !gpu) {
      refuse(fmt::format("needs a GPU ({}){}{}", setup.noGpu,
                         s.entry ? "; on a machine with one: " : "",
                         s.entry ? s.entry->needs : ""));
    } else if (python) {
      // A plug-in is somebody's experiment: a process of its own, so that its faults stay there.
      const auto process = s.entry ? peers : std::make_shared<Worker>(command);
      out.push_back(makeWorkerPeer(s.id, regime, s.plugin, process, gpu, worker));
    } else if (gpu) {
      out.push_back(gpu->make(s, withConfig));
    } else if (s.entry->backing == Backing::Attnc) {
      out.push_back(makeHostImplementation(s.id, regime, packages.compiler, packages.workDirectory,
                                           s.config));
    } else {
      refuse(fmt::format("needs a GPU ({})", setup.noGpu));
    }
  }
  return out;
}

} // namespace attnc::bench
