// The order of work and the row's status.
#include "Runner.h"

#include "Command.h"
#include "Statistics.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <fmt/format.h>

namespace attnc::bench {

Refusal refusalOf(const Status &status) {
  switch (status.code()) {
  case StatusCode::Unsupported:
  case StatusCode::Environment:
    return {"UNSUPPORTED", status.message()};
  case StatusCode::OutOfMemory:
    return {"OOM", status.message()};
  case StatusCode::WrongResult:
    return {"INCORRECT", status.message()};
  default:
    return {"ERROR", status.message()};
  }
}

std::string utcNow() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

struct Runner::Contender {
  Implementation *implementation = nullptr;
  Prepared prepared;
  std::optional<Refusal> refusal;
  Json incorrect = nullptr;
  double predictedMib = 0;
  // One repetition.
  std::string start;
  std::vector<double> samples;
  std::vector<std::pair<double, double>> windows;
  double spent = 0;
  bool done = false, skip = false;
  std::vector<std::string> unmet;
};

Runner::Runner(Machine &machine, std::vector<std::unique_ptr<Implementation>> &implementations,
               RowFile &rows, Progress &progress, const std::atomic<bool> &interrupted, Clock clock)
    : machine(machine), implementations(implementations), rows(rows), progress(progress),
      interrupted(interrupted), clock(std::move(clock)), gpu(machine.gpu()) {
  gpuIdentity = gpu.contains("uuid") && gpu["uuid"].is_string() ? gpu["uuid"].get<std::string>()
                                                                : gpu["name"].get<std::string>();
}

Result<RunSummary> Runner::run(const Suite &suite, const RunOptions &options) {
  RunSummary summary;
  step = 0;
  for (std::size_t number : options.cells) {
    if (interrupted) {
      summary.interrupted = true;
      break;
    }
    if (Status s = runCell(suite.cells[number], number, options, summary); !s.ok())
      return s;
    if (interrupted)
      summary.interrupted = true;
  }
  progress.finish();
  return summary;
}

Status Runner::lostStatus() {
  if (const std::optional<std::string> why = machine.lost())
    return {StatusCode::Internal,
            "the GPU context is lost; the last ERROR row names who did it; leave that "
            "implementation out and go on with --resume: " +
                *why};
  return {};
}

Status Runner::write(const Json &row, RunSummary &summary) {
  if (Status s = rows.append(row); !s.ok())
    return s;
  ++summary.rows;
  const auto status = row["status"].get<std::string>();
  for (auto &[name, count] : summary.statuses)
    if (name == status) {
      ++count;
      return {};
    }
  summary.statuses.emplace_back(status, 1);
  return {};
}

void Runner::prepare(const Config &config, Implementation &implementation,
                     const std::optional<Refusal> &cellRefusal, Contender &contender) {
  contender.implementation = &implementation;
  const double bytes = implementation.predictBytes(config);
  contender.predictedMib = (bytes + double(config.tensorBytes())) / (1 << 20);
  if (cellRefusal) {
    contender.refusal = cellRefusal;
    return;
  }
  const double available = machine.freeBytes();
  if (available > 0 && bytes > 0.95 * available) {
    contender.refusal = {"OOM_PREDICTED",
                         fmt::format("needs about {:.0f} MiB beyond the tensors, {:.0f} MiB of "
                                     "device memory are free; not launched",
                                     bytes / (1 << 20), available / (1 << 20))};
    return;
  }
  auto result = implementation.prepare(config, contender.incorrect);
  if (auto *refusal = std::get_if<Refusal>(&result))
    contender.refusal = std::move(*refusal);
  else
    contender.prepared = std::move(std::get<Prepared>(result));
}

Status Runner::runCell(const Config &config, std::size_t number, const RunOptions &options,
                       RunSummary &summary) {
  std::vector<Implementation *> wanted;
  std::size_t eligible = 0;
  for (const auto &implementation : implementations) {
    const std::string regime = implementation->regime();
    if (!regime.empty() && regime != config.regime)
      continue;
    ++eligible;
    bool all = true;
    for (int rep = 0; rep < options.reps; ++rep)
      all = all && rows.done(gpuIdentity, implementation->id(), config, rep);
    if (all)
      ++summary.skipped;
    else
      wanted.push_back(implementation.get());
  }
  const std::size_t stepAfter = step + eligible * std::size_t(options.reps + 1);
  std::vector<Contender> contenders;
  if (!wanted.empty()) {
    progress.update(step, config.label());
    const std::optional<Refusal> cellRefusal = machine.beginCell(config);
    for (Implementation *implementation : wanted) {
      if (interrupted)
        break;
      Contender contender;
      progress.update(step, config.label() + ": preparing " + implementation->id());
      prepare(config, *implementation, cellRefusal, contender);
      if (contender.refusal) {
        if (contender.refusal->status == "ERROR" || contender.refusal->status == "INCORRECT")
          progress.note(fmt::format("attn-bench: {}: {}: {}: {}", config.label(),
                                    implementation->id(), contender.refusal->status,
                                    contender.refusal->reason));
        // A refusal is one row: it holds for every repetition.
        contender.start = utcNow();
        if (Status s = write(row(config, number, 0, options, contender), summary); !s.ok())
          return s;
        if (contender.refusal->status == "ERROR")
          if (Status s = lostStatus(); !s.ok())
            return s;
      } else {
        contenders.push_back(std::move(contender));
      }
      ++step;
    }
    for (int rep = 0; rep < options.reps && !interrupted; ++rep) {
      if (Status s = repetition(config, number, rep, options, contenders, summary); !s.ok())
        return s;
      step += contenders.size();
    }
    contenders.clear();
    machine.endCell();
    if (Status s = lostStatus(); !s.ok())
      return s;
  }
  step = stepAfter;
  progress.update(step, config.label());
  return {};
}

Status Runner::repetition(const Config &config, std::size_t number, int rep,
                          const RunOptions &options, std::vector<Contender> &contenders,
                          RunSummary &summary) {
  const auto take = [&](Contender &c, int count, bool keep) {
    const double begin = clock();
    auto result = c.prepared.timed->sample(count);
    const double end = clock();
    if (auto *refusal = std::get_if<Refusal>(&result)) {
      c.refusal = std::move(*refusal);
      return;
    }
    if (!keep)
      return;
    for (double us : std::get<std::vector<double>>(result))
      c.samples.push_back(us);
    c.windows.emplace_back(begin, end);
    c.spent += end - begin;
  };

  const StoppingRule rule(options.stop);
  for (Contender &c : contenders) {
    c.samples.clear();
    c.windows.clear();
    c.unmet.clear();
    c.spent = 0;
    c.done = false;
    // Already in the file, or failed in an earlier repetition (that row was written).
    c.skip = c.refusal || rows.done(gpuIdentity, c.implementation->id(), config, rep);
    c.start = utcNow();
    if (!c.skip && options.warmup > 0)
      take(c, options.warmup, false);
  }
  for (bool busy = true; busy && !interrupted;) {
    busy = false;
    for (Contender &c : contenders) {
      if (c.skip || c.refusal || c.done)
        continue;
      if (interrupted)
        break;
      progress.update(step,
                      fmt::format("{}: {} rep {}", config.label(), c.implementation->id(), rep));
      take(c, options.turn, true);
      if (c.refusal)
        continue;
      // Samples without a number take part in the count, not in the noise.
      std::vector<double> finite;
      for (double us : c.samples)
        if (std::isfinite(us))
          finite.push_back(us);
      c.done = rule.done(finite.empty() ? c.samples : finite, c.spent);
      if (c.done)
        c.unmet = rule.unmet(finite);
      busy |= !c.done;
    }
  }
  for (Contender &c : contenders) {
    if (c.skip || (!c.done && !c.refusal))
      continue; // An interrupted repetition leaves no row: it would claim samples it lacks.
    if (c.refusal)
      progress.note(fmt::format("attn-bench: {}: {}: {}: {}", config.label(),
                                c.implementation->id(), c.refusal->status, c.refusal->reason));
    if (Status s = write(row(config, number, rep, options, c), summary); !s.ok())
      return s;
  }
  return {};
}

Json Runner::row(const Config &config, std::size_t number, int rep, const RunOptions &options,
                 const Contender &c) const {
  Json r;
  r["schema_version"] = 1;
  r["run_id"] = options.header.runId;
  r["shard"] = options.header.shard.empty() ? Json(nullptr) : Json(options.header.shard);
  r["time"] = c.start;
  r["rep"] = rep;
  r["implementation"] = c.implementation->id();
  r["config"] = config.toJson();
  r["gpu"] = gpu;
  r["status"] = c.refusal ? c.refusal->status : "OK";
  r["reason"] = c.refusal ? Json(c.refusal->reason) : Json(nullptr);
  Json samples = Json::array();
  std::vector<double> finite;
  for (double us : c.samples) {
    // Nanoseconds are finer than any device timer here; more digits would be noise in the file.
    const double rounded = std::round(us * 1000) / 1000;
    samples.push_back(std::isfinite(us) ? Json(rounded) : Json(nullptr));
    if (std::isfinite(us))
      finite.push_back(rounded);
  }
  r["samples_us"] = samples;
  r["median_us"] = finite.empty() ? Json(nullptr) : Json(median(finite));
  if (!c.refusal) {
    r["setup_us"] = c.prepared.setupUs;
    r["stop"] = {{"met", c.unmet.empty()}, {"unmet", c.unmet}};
    const Json window = machine.window(c.windows);
    for (const auto &item : window.items())
      r[item.key()] = item.value();
  }
  r["memory"] = {
      {"measured_mib", c.prepared.measuredMib ? Json(*c.prepared.measuredMib) : Json(nullptr)},
      {"predicted_mib", c.predictedMib}};
  r["kv_expanded"] = c.prepared.kvExpanded ? Json(*c.prepared.kvExpanded) : Json(nullptr);
  r["dispatch"] = c.prepared.dispatch;
  r["correctness"] = c.incorrect.is_null() ? c.prepared.correctness : c.incorrect;
  r["versions"] = c.prepared.versions;
  r["spec_hash"] = c.prepared.specHash ? Json(*c.prepared.specHash) : Json(nullptr);
  r["repeat"] =
      fmt::format("{} --impl {} --only {}", options.repeatPrefix,
                  shellQuote(c.implementation->argument()), number);
  return r;
}

} // namespace attnc::bench
