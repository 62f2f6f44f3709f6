// attnc on the CPU, and refusals.
#include "HostMachine.h"

#include "Command.h"
#include "Progress.h"
#include "Spec.h"
#include "attnc/Runtime/FileIo.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>

namespace attnc::bench {

namespace {

class HostMachine : public Machine {
public:
  Json gpu() const override {
    return {
        {"name", "host"}, {"uuid", nullptr}, {"cc", nullptr}, {"arch", nullptr}, {"sm", nullptr}};
  }
};

class Unavailable : public Implementation {
public:
  Unavailable(std::string id, std::string regime, Refusal refusal)
      : name(std::move(id)), cells(std::move(regime)), refusal(std::move(refusal)) {}
  const std::string &id() const override { return name; }
  std::string regime() const override { return cells; }
  std::variant<Prepared, Refusal> prepare(const Config &, Json &) override { return refusal; }

private:
  std::string name, cells;
  Refusal refusal;
};

/// One `attnc run`; its JSON answer or why there is none.
std::variant<Json, Refusal> attncRun(const std::string &compiler, const std::string &spec,
                                     const Config &c, const char *verify,
                                     const std::string &config) {
  std::vector<std::string> command = {compiler,
                                      "run",
                                      spec,
                                      "--target",
                                      "host",
                                      "--json",
                                      "--seed",
                                      "1",
                                      std::string("--verify=") + verify,
                                      "--shape",
                                      fmt::format("b={},sq={},skv={}", c.batch, c.lenQ(), c.n)};
  if (!config.empty())
    command.insert(command.end(), {"--config", config});
  const CommandResult run = runCommand(command, 60);
  if (run.timedOut)
    return Refusal{"TIMEOUT", "attnc run took more than 60 s"};
  const Json json = Json::parse(run.standardOutput, nullptr, false);
  if (json.is_object() && json.contains("milliseconds") && json.contains("outputs"))
    return json;
  const char *status = run.exitCode == 3 || run.exitCode == 5 ? "UNSUPPORTED"
                       : run.exitCode == 6                    ? "OOM"
                                                              : "ERROR";
  return Refusal{status, fmt::format("attnc run, exit {}: {}", run.exitCode, run.lastErrorLine())};
}

class HostTimed : public Timed {
public:
  HostTimed(std::string compiler, std::string spec, Config cell, std::string config)
      : compiler(std::move(compiler)), spec(std::move(spec)), cell(std::move(cell)),
        config(std::move(config)) {}

  std::variant<std::vector<double>, Refusal> sample(int count) override {
    std::vector<double> out;
    // A process a sample is slow: a turn ends after a second, so that the time cap and Ctrl-C hold.
    const double start = steadySeconds();
    for (int i = 0; i < count && (i == 0 || steadySeconds() - start < 1); ++i) {
      auto run = attncRun(compiler, spec, cell, "none", config);
      if (auto *refusal = std::get_if<Refusal>(&run))
        return *refusal;
      out.push_back(1000 * std::get<Json>(run)["milliseconds"].get<double>());
    }
    return out;
  }

private:
  std::string compiler, spec;
  Config cell;
  std::string config;
};

class HostImplementation : public Implementation {
public:
  HostImplementation(std::string id, std::string regime, std::string compiler,
                     std::string workDirectory, std::string forced)
      : name(std::move(id)), cells(std::move(regime)), compiler(std::move(compiler)),
        workDirectory(std::move(workDirectory)), forced(std::move(forced)) {}
  const std::string &id() const override { return name; }
  std::string regime() const override { return cells; }

  std::variant<Prepared, Refusal> prepare(const Config &config, Json &onIncorrect) override {
    if (compiler.empty())
      return Refusal{"UNSUPPORTED", "no GPU, and no attnc executable beside attn-bench or in PATH"};
    if (config.launch == "graph")
      return Refusal{"UNSUPPORTED", "the host target has no graphs"};
    if (config.cache == "warm")
      return Refusal{"UNSUPPORTED",
                     "on the host every sample is a process of its own: its cache is cold"};
    Result<std::string> spec = specText(config);
    if (!spec.ok())
      return refusalOf(spec.status());
    mkdir(workDirectory.c_str(), 0777);
    const std::string path = workDirectory + "/" + specName(config) + ".yaml";
    if (Status s = rt::writeFileAtomically(path, *spec); !s.ok())
      return refusalOf(s);
    auto run = attncRun(compiler, path, config, "fp64", forced);
    if (auto *refusal = std::get_if<Refusal>(&run))
      return *refusal;
    const Json &json = std::get<Json>(run);
    Json correctness = {{"pass", json.value("ok", false)}};
    for (const Json &output : json["outputs"])
      if (output.value("name", "") == "o") {
        correctness["max_abs"] = output.value("max_abs", Json());
        correctness["vs_baseline"] = output.value("error_ratio", Json());
      }
    if (!json.value("ok", false)) {
      onIncorrect = correctness;
      return Refusal{"INCORRECT", "attnc run found the output wrong: " + json["outputs"].dump()};
    }
    Prepared prepared;
    prepared.correctness = correctness;
    prepared.dispatch = {
        {"kernels", Json::array()}, {"observed", "unprobed"}, {"intended", "attnc"}};
    prepared.versions = {{"threads", std::to_string(std::thread::hardware_concurrency())}};
    prepared.timed = std::make_unique<HostTimed>(compiler, path, config, forced);
    return prepared;
  }

private:
  std::string name, cells, compiler, workDirectory, forced;
};

} // namespace

std::unique_ptr<Machine> makeHostMachine() { return std::make_unique<HostMachine>(); }

std::unique_ptr<Implementation> makeHostImplementation(std::string id, std::string regime,
                                                       std::string compiler,
                                                       std::string workDirectory,
                                                       std::string config) {
  return std::make_unique<HostImplementation>(std::move(id), std::move(regime), std::move(compiler),
                                              std::move(workDirectory), std::move(config));
}

std::unique_ptr<Implementation> makeUnavailable(std::string id, std::string regime,
                                                Refusal refusal) {
  return std::make_unique<Unavailable>(std::move(id), std::move(regime), std::move(refusal));
}

} // namespace attnc::bench
