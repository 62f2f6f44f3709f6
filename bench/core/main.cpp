// attn-bench: flags only. `run` measures; `compare`, `report`, `select`, `document`, `merge` and
// `schema` are the Python analysis, called with the same words.
#include "Paths.h"
#include "RunCommand.h"
#include "TuneCommand.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

using namespace attnc::bench;

/// What was printed may still not have arrived: a full disk is told when the buffer is flushed.
static int finishStdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout)
    return 0;
  std::fprintf(stderr, "attn-bench: error: cannot write to stdout: %s\n",
               errno ? std::strerror(errno) : "an earlier write failed");
  return 5;
}

int main(int argc, char **argv) {
  for (const char *verb : {"compare", "report", "select", "document", "merge", "schema"})
    if (argc > 1 && std::strcmp(argv[1], verb) == 0)
      return execAnalysis({argv + 1, argv + argc});

  // Past `ulimit -f` a write fails and is reported; the rows before it are kept.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("attn-bench measures implementations of attention, each checked against fp64, and "
               "writes rows.");
  app.footer(
      "compare, report, select, document, merge, schema: analysis of rows; each has --help.\n"
      "Exit codes: 0 ok, 2 bad usage, 4 wrong result (with --strict), 5 environment, "
      "7 regression (compare), 130 interrupted.");
  app.require_subcommand(1);

  RunArguments run;
  CLI::App *r = app.add_subcommand("run", "Measure a suite and append rows to a file");
  r->add_option("-s,--suite", run.suite, "Built-in suite, or a YAML or JSON file")
      ->capture_default_str();
  r->add_option("-o,--output", run.output, "Rows (JSONL); default attn-bench-SUITE.jsonl");
  r->add_option("-i,--impl", run.implementations,
                "Implementations: ids (attn-bench list), or NAME=path.py:function; default all")
      ->allow_extra_args(false);
  r->add_option("--only", run.only, "Cells of the suite, by number")
      ->delimiter(',')
      ->allow_extra_args(false);
  r->add_option("--shard", run.shard, "i/n: every n-th cell from i on");
  r->add_flag("--resume", run.resume, "Go on with the output file; ERROR and TIMEOUT are retried");
  r->add_option("--run-id", run.runId, "Shared by all shards; default a new one, or the file's");
  r->add_option("--reps", run.reps, "Repetitions of a cell")->capture_default_str();
  r->add_option("--warmup", run.warmup, "Samples thrown away before each repetition")
      ->capture_default_str();
  r->add_option("--turn", run.turn, "Samples before the next implementation has its turn")
      ->capture_default_str();
  r->add_option("--min-samples", run.stop.minSamples, "Least samples of a repetition")
      ->capture_default_str();
  r->add_option("--max-samples", run.stop.maxSamples, "Most samples of a repetition")
      ->capture_default_str();
  r->add_option("--noise", run.stop.noise, "Target: half of the median's 95% interval, relative")
      ->capture_default_str();
  r->add_option("--time-cap", run.stop.capSeconds, "Seconds one repetition may take")
      ->capture_default_str();
  r->add_option("--device", run.device, "GPU ordinal")->capture_default_str();
  r->add_flag("--host", run.host, "Use the CPU although there may be a GPU");
  r->add_flag("--no-peers", run.noPeers, "Start no Python worker");
  r->add_option("--python", run.python,
                "Python with the peers' packages; default $ATTNC_BENCH_WORKER_PYTHON or python3");
  r->add_option("--worker-timeout", run.workerTimeout, "Seconds a peer may take to get ready")
      ->capture_default_str();
  r->add_option("--packages", run.packages, "Directory of packages made by list --compile");
  r->add_option("--work-dir", run.workDirectory, "Where compiled packages are kept");
  r->add_option("--seed", run.seed, "Seed of the inputs")->capture_default_str();
  r->add_flag("--strict", run.strict, "Exit 4 if a result was wrong");

  TuneArguments tune;
  tune.run.noPeers = true;
  CLI::App *t = app.add_subcommand(
      "tune", "Search attnc's configurations on a suite's cells and store the fastest");
  t->add_option("-s,--suite", tune.run.suite, "Built-in suite, or a YAML or JSON file")
      ->capture_default_str();
  t->add_option("--only", tune.run.only, "Cells of the suite, by number")
      ->delimiter(',')
      ->allow_extra_args(false);
  t->add_option(
       "--space", tune.spaces,
       "Values to try, 'block_n=64,80;stages=2,3'; several add up; default by the schedule "
       "that attnc chooses")
      ->allow_extra_args(false);
  t->add_option("--store", tune.store,
                "Tuning store; default $ATTNC_TUNING or ~/.local/share/attnc/tuning.jsonl");
  t->add_option("-o,--output", tune.run.output,
                "Rows of the finals (JSONL); default attn-bench-tune-SUITE.jsonl");
  t->add_option("--finalists", tune.finalists, "Candidates that are measured at full length")
      ->capture_default_str();
  t->add_option("--margin", tune.margin,
                "Least gain over attnc's own choice, and most loss in a cell")
      ->capture_default_str();
  t->add_flag("--dry-run", tune.dryRun, "Print the candidates and measure nothing");
  t->add_option("--reps", tune.run.reps, "Repetitions of the finals")->capture_default_str();
  t->add_option("--turn", tune.run.turn, "Samples before the next candidate has its turn")
      ->capture_default_str();
  t->add_option("--min-samples", tune.run.stop.minSamples, "Least samples of a repetition")
      ->capture_default_str();
  t->add_option("--time-cap", tune.run.stop.capSeconds, "Seconds one repetition may take")
      ->capture_default_str();
  t->add_option("--device", tune.run.device, "GPU ordinal")->capture_default_str();
  t->add_flag("--host", tune.run.host, "Tune for the CPU although there may be a GPU");
  t->add_option("--work-dir", tune.run.workDirectory, "Where compiled packages are kept");
  t->add_option("--seed", tune.run.seed, "Seed of the inputs")->capture_default_str();

  ListArguments list;
  CLI::App *l = app.add_subcommand("list", "Suites and implementations; cells of a suite");
  l->add_option("-s,--suite", list.suite, "List the cells of this suite");
  CLI::Option *compile =
      l->add_option("--compile", list.compileDirectory, "Compile the suite's packages to here");
  l->add_option("--target", list.target, "Target of --compile, e.g. sm_90a")->needs(compile);
  compile->needs("--target");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (app.exit(e) != 0)
      return 2;
    std::cout.flush(); // --help, which CLI11 writes to it.
    return finishStdout();
  }
  const int code = t->parsed()   ? tuneCommandLine(tune)
                   : r->parsed() ? runCommandLine(run)
                                 : listCommandLine(list);
  return code ? code : finishStdout();
}
