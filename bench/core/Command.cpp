// fork, exec, poll.
#include "Command.h"

#include "Progress.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attnc::bench {

std::string CommandResult::lastErrorLine() const {
  std::istringstream lines(standardError);
  std::string last, line;
  while (std::getline(lines, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      last = line;
  return last;
}

CommandResult runCommand(const std::vector<std::string> &arguments, double timeoutSeconds) {
  CommandResult result;
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC))
    return result;
  if (pipe2(err, O_CLOEXEC)) {
    close(out[0]);
    close(out[1]);
    return result;
  }
  std::vector<char *> argv;
  for (const std::string &a : arguments)
    argv.push_back(const_cast<char *>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    execvp(argv[0], argv.data());
    const char *why = std::strerror(errno);
    [[maybe_unused]] ssize_t n = ::write(2, why, std::strlen(why));
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  const double deadline = steadySeconds() + timeoutSeconds;
  bool openStreams[2] = {true, true};
  while (pid > 0 && (openStreams[0] || openStreams[1])) {
    pollfd fds[2] = {{openStreams[0] ? out[0] : -1, POLLIN, 0},
                     {openStreams[1] ? err[0] : -1, POLLIN, 0}};
    const double left = deadline - steadySeconds();
    if (left <= 0) {
      result.timedOut = true;
      ::kill(-pid, SIGKILL);
      break;
    }
    if (poll(fds, 2, int(left * 1000) + 1) <= 0)
      continue;
    for (int i = 0; i < 2; ++i) {
      if (!fds[i].revents)
        continue;
      char buffer[1 << 16];
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0)
        (i ? result.standardError : result.standardOutput).append(buffer, std::size_t(n));
      else if (n == 0 || errno != EINTR)
        openStreams[i] = false;
    }
  }
  close(out[0]);
  close(err[0]);
  int state = 0;
  if (pid > 0) {
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    result.exitCode = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  }
  return result;
}

std::string executableDirectory() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0)
    return ".";
  std::string text(path, std::size_t(n));
  return text.substr(0, text.rfind('/'));
}

bool fileExists(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

std::string findTool(const std::string &name) {
  const std::string beside = executableDirectory() + "/" + name;
  if (access(beside.c_str(), X_OK) == 0)
    return beside;
  const char *path = getenv("PATH");
  std::istringstream dirs(path ? path : "");
  for (std::string dir; std::getline(dirs, dir, ':');)
    if (!dir.empty() && access((dir + "/" + name).c_str(), X_OK) == 0)
      return dir + "/" + name;
  return "";
}

std::string shellQuote(const std::string &text) {
  if (!text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789-_=./,:+@%") == std::string::npos)
    return text;
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

} // namespace attnc::bench
