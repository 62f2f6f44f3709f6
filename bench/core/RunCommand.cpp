// Puts a run together: suite, rows file, machine, implementations, runner.
#include "RunCommand.h"

#include "Catalogue.h"
#include "Command.h"
#include "Runner.h"
#include "Setup.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace attnc::bench {

namespace {

template <typename... T> void out(fmt::format_string<T...> text, T &&...values) {
  std::fputs(fmt::format(text, std::forward<T>(values)...).c_str(), stdout);
}

bool parseShard(const std::string &text, int &i, int &n) {
  char rest;
  return std::sscanf(text.c_str(), "%d/%d%c", &i, &n, &rest) == 2 && n >= 1 && i >= 0 && i < n;
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

  Result<PackageSource> packages = makePackageSource(a);
  if (!packages.ok())
    return fail(packages.status());
  catchInterrupts();
  Setup setup = openMachine(a);
  setup.implementations = makeImplementations(setup, a, *selected, *packages);
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
