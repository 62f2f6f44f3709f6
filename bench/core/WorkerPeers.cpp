// Requests to the worker and what its answers mean.
#include "WorkerPeers.h"

#include "Families.h"
#include "TimingRules.h"

#include "attnc/Runtime/FileIo.h"

#include <fmt/format.h>
#include <limits>
#include <unistd.h>

namespace attnc::bench {

namespace {

Refusal refusalOf(const WorkerDeath &death) {
  if (death.timedOut)
    return {"TIMEOUT", death.reason};
  return {"ERROR", "the worker died: " + death.reason};
}

/// The refusal in an answer, if it is one.
std::optional<Refusal> refusalIn(const Json &answer) {
  try {
    if (answer.at("ok").get<bool>())
      return std::nullopt;
    std::string status = answer.value("status", "ERROR");
    for (const char *known : {"UNSUPPORTED", "OOM", "ERROR", "TIMEOUT", "OOM_PREDICTED"})
      if (status == known)
        return Refusal{status, answer.value("reason", std::string("no reason given"))};
    return Refusal{"ERROR", "the worker answered with status " + status};
  } catch (const Json::exception &e) {
    return Refusal{"ERROR", std::string("the worker's answer breaks the protocol: ") + e.what()};
  }
}

class WorkerPeer;

class WorkerTimed : public Timed {
public:
  WorkerTimed(WorkerPeer &peer, Config config) : peer(peer), config(std::move(config)) {}
  ~WorkerTimed() override;
  std::variant<std::vector<double>, Refusal> sample(int count) override;

  WorkerPeer &peer;
  Config config;
  int handle = -1, generation = -1;
};

class WorkerPeer : public Implementation {
public:
  WorkerPeer(std::string id, std::string regime, std::string plugin, std::shared_ptr<Worker> worker,
             OutputChecker *checker, WorkerSettings settings)
      : name(std::move(id)), cells(std::move(regime)), plugin(std::move(plugin)),
        worker(std::move(worker)), checker(checker), settings(std::move(settings)) {}

  const std::string &id() const override { return name; }
  std::string argument() const override { return plugin.empty() ? name : name + "=" + plugin; }
  std::string regime() const override { return cells; }
  double predictBytes(const Config &c) const override;
  std::variant<Prepared, Refusal> prepare(const Config &config, Json &onIncorrect) override;

  /// The `prepare` request; \p outputPath empty: the output is not wanted.
  std::variant<Json, Refusal> ask(const Config &config, const std::string &outputPath);

  std::string name, cells, plugin;
  std::shared_ptr<Worker> worker;
  OutputChecker *checker;
  WorkerSettings settings;
};

double WorkerPeer::predictBytes(const Config &c) const {
  // The worker holds its own tensors. Implementations with the scores in memory hold them about
  // three times in the tensors' type (scores, weights, mask or a temporary).
  double bytes = double(c.tensorBytes()) * copiesNeeded(c, settings.l2Bytes);
  if (name == "P0-naive" || name.rfind("P1-inductor", 0) == 0 || name == "D0-naive-kv" ||
      name == "D1-inductor") {
    bytes +=
        3.0 * double(c.batch * c.hq) * double(c.lenQ()) * double(c.n) * double(c.elementBytes());
    bytes += 2.0 * double(c.batch * c.hq * c.n * c.headDim * c.elementBytes());
  }
  return bytes;
}

std::variant<Json, Refusal> WorkerPeer::ask(const Config &config, const std::string &outputPath) {
  Json request = {{"op", "prepare"},
                  {"impl", name},
                  {"config", config.toJson()},
                  {"seed", settings.seed},
                  {"l2_bytes", settings.l2Bytes},
                  {"flush_bytes", settings.flushBytes},
                  {"output", outputPath.empty() ? Json(nullptr) : Json(outputPath)},
                  {"plugin", plugin.empty() ? Json(nullptr) : Json(plugin)}};
  auto answer = worker->request(request, settings.prepareSeconds);
  if (auto *death = std::get_if<WorkerDeath>(&answer))
    return refusalOf(*death);
  Json json = std::move(std::get<Json>(answer));
  if (auto refusal = refusalIn(json)) {
    // A CUDA error leaves the process's context unusable: the next one gets a new process.
    if (json.value("restart", false))
      worker->stop();
    return *refusal;
  }
  return json;
}

std::variant<Prepared, Refusal> WorkerPeer::prepare(const Config &config, Json &onIncorrect) {
  if (config.mode != "fwd")
    return Refusal{"UNSUPPORTED", "attn-bench measures forward only; found mode " + config.mode};
  const std::string path = fmt::format(
      "{}/attn-bench-{}-{}.out",
      access(settings.outputDirectory.c_str(), W_OK) ? "/tmp" : settings.outputDirectory, getpid(),
      name.substr(0, 40));
  std::string file;
  for (char c : path.substr(path.rfind('/') + 1))
    file += isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
  const std::string full = path.substr(0, path.rfind('/') + 1) + file;
  auto answer = ask(config, checker ? full : "");
  if (auto *refusal = std::get_if<Refusal>(&answer)) {
    unlink(full.c_str());
    return *refusal;
  }
  const Json &json = std::get<Json>(answer);
  Prepared prepared;
  auto timed = std::make_unique<WorkerTimed>(*this, config);
  try {
    timed->handle = json.at("handle").get<int>();
    timed->generation = worker->generation();
    prepared.setupUs = json.at("setup_us").get<double>();
    if (json.contains("versions"))
      prepared.versions = json["versions"];
    if (json.contains("dispatch") && json["dispatch"].is_object()) {
      prepared.dispatch = json["dispatch"];
      std::vector<std::string> names;
      for (const Json &kernel : prepared.dispatch.value("kernels", Json::array()))
        names.push_back(kernel.at("name").get<std::string>());
      prepared.dispatch["observed"] = names.empty() ? "unprobed" : launchFamily(names);
    }
    if (json.contains("peak_mib") && json["peak_mib"].is_number())
      prepared.measuredMib = json["peak_mib"].get<double>();
    if (json.contains("kv_expanded") && json["kv_expanded"].is_boolean())
      prepared.kvExpanded = json["kv_expanded"].get<bool>();
  } catch (const Json::exception &e) {
    return Refusal{"ERROR", std::string("the worker's answer breaks the protocol: ") + e.what()};
  }
  if (checker) {
    Result<std::string> bytes = rt::readFile(full);
    unlink(full.c_str());
    if (!bytes.ok())
      return Refusal{"ERROR", "the worker left no output: " + bytes.status().message()};
    Result<Json> correctness = checker->check(config, *bytes);
    if (!correctness.ok())
      return bench::refusalOf(correctness.status());
    if (correctness->value("pass", Json()) == Json(false)) {
      onIncorrect = *correctness;
      return Refusal{"INCORRECT", correctness->value("why", std::string("differs from fp64"))};
    }
    prepared.correctness = *correctness;
  }
  prepared.timed = std::move(timed);
  return prepared;
}

WorkerTimed::~WorkerTimed() {
  if (handle >= 0 && peer.worker->running() && generation == peer.worker->generation())
    (void)peer.worker->request({{"op", "release"}, {"handle", handle}},
                               peer.settings.sampleSeconds);
}

std::variant<std::vector<double>, Refusal> WorkerTimed::sample(int count) {
  if (!peer.worker->running() || generation != peer.worker->generation()) {
    // Another implementation took the worker down since; ours was checked and starts anew.
    auto again = peer.ask(config, "");
    if (auto *refusal = std::get_if<Refusal>(&again))
      return *refusal;
    handle = std::get<Json>(again).value("handle", -1);
    generation = peer.worker->generation();
  }
  auto answer = peer.worker->request({{"op", "sample"}, {"handle", handle}, {"count", count}},
                                     peer.settings.sampleSeconds);
  if (auto *death = std::get_if<WorkerDeath>(&answer))
    return refusalOf(*death);
  const Json &json = std::get<Json>(answer);
  if (auto refusal = refusalIn(json)) {
    if (json.value("restart", false))
      peer.worker->stop();
    return *refusal;
  }
  std::vector<double> out;
  try {
    for (const Json &us : json.at("us"))
      out.push_back(us.is_number() ? us.get<double>() : std::numeric_limits<double>::quiet_NaN());
  } catch (const Json::exception &e) {
    return Refusal{"ERROR", std::string("the worker's answer breaks the protocol: ") + e.what()};
  }
  if (out.size() != std::size_t(count))
    return Refusal{"ERROR",
                   fmt::format("the worker gave {} samples, asked for {}", out.size(), count)};
  return out;
}

} // namespace

std::unique_ptr<Implementation> makeWorkerPeer(std::string id, std::string regime,
                                               std::string plugin, std::shared_ptr<Worker> worker,
                                               OutputChecker *checker,
                                               const WorkerSettings &settings) {
  return std::make_unique<WorkerPeer>(std::move(id), std::move(regime), std::move(plugin),
                                      std::move(worker), checker, settings);
}

} // namespace attnc::bench
