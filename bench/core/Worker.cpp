// Process plumbing of the worker.
#include "Worker.h"

#include "Progress.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attnc::bench {

Worker::Worker(std::vector<std::string> command) : command(std::move(command)) {
  // A worker that died shows as a failed write, not as a signal that ends attn-bench.
  std::signal(SIGPIPE, SIG_IGN);
}

bool Worker::start(std::string &error) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
    error = fmt::format("no pipe: {}", std::strerror(errno));
    return false;
  }
  // What the worker prints besides the protocol: kept for the reason of a crash.
  std::string path =
      std::string(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") + "/attn-bench-worker-XXXXXX";
  const int log = mkostemp(path.data(), O_CLOEXEC);
  stderrPath = log >= 0 ? path : "";
  std::vector<char *> arguments;
  for (std::string &a : command)
    arguments.push_back(a.data());
  arguments.push_back(nullptr);
  pid = fork();
  if (pid == 0) {
    // A group of its own: Ctrl-C is for attn-bench, and a kill reaches what the worker starts.
    setpgid(0, 0);
    dup2(in[0], 0);
    dup2(out[1], 1);
    if (log >= 0)
      dup2(log, 2);
    execvp(arguments[0], arguments.data());
    const char *why = std::strerror(errno);
    [[maybe_unused]] ssize_t n = ::write(2, why, std::strlen(why));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  if (log >= 0)
    close(log);
  if (pid < 0) {
    close(in[1]);
    close(out[0]);
    error = fmt::format("cannot start: {}", std::strerror(errno));
    return false;
  }
  setpgid(pid, pid);
  input = in[1];
  output = out[0];
  pending.clear();
  ++starts;
  return true;
}

std::string Worker::stderrTail() const {
  std::ifstream file(stderrPath);
  std::string last, line;
  while (std::getline(file, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      last = line;
  return last.size() > 300 ? last.substr(0, 300) + "..." : last;
}

std::string Worker::kill(bool hard) {
  if (pid <= 0)
    return "";
  close(input);
  close(output);
  input = output = -1;
  int state = 0;
  pid_t done = 0;
  // A worker whose input ended leaves by itself; a hung one does not.
  for (int i = 0; !hard && i < 200 && done == 0; ++i) {
    done = waitpid(pid, &state, WNOHANG);
    if (done == 0)
      usleep(10000);
  }
  ::kill(-pid, SIGKILL);
  if (done == 0)
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
  std::string how = WIFSIGNALED(state)
                        ? fmt::format("signal {} ({})", WTERMSIG(state), strsignal(WTERMSIG(state)))
                        : fmt::format("exit {}", WEXITSTATUS(state));
  const std::string tail = stderrTail();
  if (!tail.empty())
    how += ": " + tail;
  if (!stderrPath.empty())
    unlink(stderrPath.c_str());
  pid = -1;
  return how;
}

void Worker::stop() { kill(false); }

std::variant<Json, WorkerDeath> Worker::request(const Json &request, double timeoutSeconds) {
  std::string error;
  if (!running() && !start(error))
    return WorkerDeath{false, error};
  const std::string line = request.dump() + "\n";
  std::size_t sent = 0;
  const double deadline = steadySeconds() + timeoutSeconds;
  for (;;) {
    const double left = deadline - steadySeconds();
    if (left <= 0) {
      kill(true);
      return WorkerDeath{
          true, fmt::format("no answer in {:.3g} s; the worker was killed", timeoutSeconds)};
    }
    pollfd fds[2] = {{output, POLLIN, 0}, {input, POLLOUT, 0}};
    const int n = poll(fds, sent < line.size() ? 2 : 1, int(left * 1000) + 1);
    if (n < 0 && errno != EINTR)
      return WorkerDeath{false, kill(true)};
    if (n <= 0)
      continue;
    if (sent < line.size() && fds[1].revents) {
      const ssize_t w =
          ::write(input, line.data() + sent, std::min<std::size_t>(line.size() - sent, PIPE_BUF));
      if (w < 0 && errno != EINTR)
        return WorkerDeath{false, kill(false)};
      sent += w > 0 ? std::size_t(w) : 0;
    }
    if (!fds[0].revents)
      continue;
    char buffer[1 << 16];
    const ssize_t r = ::read(output, buffer, sizeof buffer);
    if (r < 0 && errno == EINTR)
      continue;
    if (r <= 0)
      return WorkerDeath{false, kill(false)};
    pending.append(buffer, std::size_t(r));
    const std::size_t end = pending.find('\n');
    if (end == std::string::npos)
      continue;
    const Json answer = Json::parse(pending.substr(0, end), nullptr, false);
    pending.erase(0, end + 1);
    if (!answer.is_object()) {
      kill(true);
      return WorkerDeath{false, "answered with something that is no JSON object; killed"};
    }
    return answer;
  }
}

} // namespace attnc::bench
