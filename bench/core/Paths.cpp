// Finding and calling Python.
#include "Paths.h"

#include "Command.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace attnc::bench {

Result<std::string> benchDirectory() {
  std::string tried;
  std::string directory = executableDirectory();
  for (int up = 0; up < 4 && !directory.empty(); ++up) {
    for (const char *below : {"/bench", "/share/attnc/bench"}) {
      const std::string candidate = directory + below;
      if (fileExists(candidate + "/peers/worker.py"))
        return candidate;
      tried += (tried.empty() ? "" : ", ") + candidate;
    }
    directory = directory.substr(0, directory.rfind('/'));
  }
  return Status(StatusCode::Environment,
                "the Python parts of the bench were not found; looked for peers/worker.py in " +
                    tried);
}

std::string analysisPython() {
  if (const char *set = getenv("ATTNC_BENCH_PYTHON"); set && *set)
    return set;
  if (Result<std::string> bench = benchDirectory(); bench.ok()) {
    const std::string venv = *bench + "/../.venv/bin/python";
    if (access(venv.c_str(), X_OK) == 0)
      return venv;
  }
  return "python3";
}

std::string workerPython(const std::string &given) {
  if (!given.empty())
    return given;
  if (const char *set = getenv("ATTNC_BENCH_WORKER_PYTHON"); set && *set)
    return set;
  return "python3";
}

int execAnalysis(const std::vector<std::string> &arguments) {
  const std::string python = analysisPython();
  if (Result<std::string> bench = benchDirectory(); bench.ok()) {
    std::string path = *bench + "/analysis";
    if (const char *old = getenv("PYTHONPATH"); old && *old)
      path += std::string(":") + old;
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  std::vector<char *> argv;
  for (const char *a : {python.c_str(), "-m", "attnc_bench"})
    argv.push_back(const_cast<char *>(a));
  for (const std::string &a : arguments)
    argv.push_back(const_cast<char *>(a.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::fputs(fmt::format("attn-bench: error: cannot run {}: {}; set ATTNC_BENCH_PYTHON, or run "
                         "./dev setup\n",
                         python, std::strerror(errno))
                 .c_str(),
             stderr);
  return 5;
}

} // namespace attnc::bench
