// A worker process that speaks JSON lines: one request in, one answer out. Starts it, talks to it
// with a time limit, tells a crash from a hang, kills it with everything it started. What the
// requests mean is WorkerPeers'.
#ifndef ATTNC_BENCH_WORKER_H
#define ATTNC_BENCH_WORKER_H

#include "Config.h"

#include <string>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace attnc::bench {

/// The worker is gone, or was made to go, and why.
struct WorkerDeath {
  bool timedOut = false;
  /// For people: "exit 1: ModuleNotFoundError: ...", "signal 11", "no answer in 60 s; killed".
  std::string reason;
};

class Worker {
public:
  /// \p command is program and arguments; nothing runs until the first request.
  explicit Worker(std::vector<std::string> command);
  ~Worker() { stop(); }
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// Sends \p request, starting the worker if it does not run, and waits for the answer.
  std::variant<Json, WorkerDeath> request(const Json &request, double timeoutSeconds);

  /// Ends the worker: a closed input first, then a kill.
  void stop();

  bool running() const { return pid > 0; }
  /// Goes up with every start: handles of an earlier worker are void.
  int generation() const { return starts; }

private:
  bool start(std::string &error);
  std::string kill(bool hard);
  std::string stderrTail() const;

  std::vector<std::string> command;
  pid_t pid = -1;
  int input = -1, output = -1, starts = 0;
  std::string pending, stderrPath;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_WORKER_H
