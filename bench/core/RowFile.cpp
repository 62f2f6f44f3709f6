// Resuming and appending. Line by line the rules are those of the analysis (rows.py): a complete
// line that does not parse is an error with its number; an incomplete last one is an interruption.
#include "RowFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::bench {

namespace {

Status environment(const std::string &path, const char *what) {
  return {StatusCode::Environment, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

} // namespace

std::string RowFile::identity(const std::string &gpu, const std::string &implementation,
                              const std::string &configKey, long long rep) {
  return fmt::format("{}\n{}\n{}\n{}", gpu, implementation, configKey, rep);
}

Result<std::unique_ptr<RowFile>> RowFile::open(const std::string &path, bool resume,
                                               std::string runId) {
  std::unique_ptr<RowFile> out(new RowFile());
  out->run = std::move(runId);
  out->path = path;
  // Before it is opened: a pipe would wait for its other end, and reading a device may never end.
  struct stat existing;
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode))
    return Status(StatusCode::Environment,
                  path + ": is not a regular file; rows are appended to one, which --resume reads "
                         "back");
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    return environment(path, "cannot open");
  out->file = fdopen(fd, "r+b");
  if (!out->file)
    return environment(path, "cannot open");
  if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return Status(StatusCode::Environment,
                  path + ": another attn-bench is writing to it; wait, or name another file");
  std::string text;
  char buffer[1 << 16];
  std::rewind(out->file);
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, out->file)) > 0;)
    text.append(buffer, n);
  if (text.empty())
    return out;
  if (!resume)
    return Status(StatusCode::InvalidArgument,
                  path + ": exists and is not empty; --resume goes on with it, or name a new file");
  if (Status s = out->load(path, text); !s.ok())
    return s;
  if (out->torn && ftruncate(fd, off_t(text.size() - out->torn)))
    return environment(path, "cannot cut off the torn last line");
  return out;
}

Status RowFile::load(const std::string &path, std::string &text) {
  struct Seen {
    std::string run, key, status;
    std::string anyRep;
  };
  std::vector<Seen> rows;
  std::size_t start = 0, number = 0;
  std::string lastRun;
  while (start < text.size()) {
    ++number;
    const std::size_t end = text.find('\n', start);
    const bool complete = end != std::string::npos;
    const std::string line = text.substr(start, complete ? end - start : std::string::npos);
    const std::size_t begin = start;
    start = complete ? end + 1 : text.size();
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    if (!complete) {
      // Even if it parses: a line is written with its newline in one go, so this one was not
      // finished, and appending to it would spoil both.
      torn = text.size() - begin;
      break;
    }
    const Json row = Json::parse(line, nullptr, false);
    const auto bad = [&](const std::string &why) {
      return Status(StatusCode::InvalidArgument,
                    fmt::format("{}:{}: {}; nothing was changed; repair the line, or write to a "
                                "new file",
                                path, number, why));
    };
    if (!row.is_object())
      return bad("not a row of attn-bench (no JSON object)");
    if (row.value("schema_version", Json()) != Json(1))
      return bad("schema_version is not 1, which this attn-bench writes");
    Seen seen;
    try {
      Result<Config> config = Config::fromJson(row.at("config"));
      if (!config.ok())
        return bad("config: " + config.status().message());
      const Json &gpu = row.at("gpu");
      std::string name = gpu.at("name").get<std::string>();
      if (gpu.contains("uuid") && gpu["uuid"].is_string())
        name = gpu["uuid"].get<std::string>();
      seen.run = row.at("run_id").get<std::string>();
      const auto implementation = row.at("implementation").get<std::string>();
      seen.key = identity(name, implementation, config->key(), row.at("rep").get<long long>());
      seen.anyRep = identity(name, implementation, config->key(), -1);
      seen.status = row.at("status").get<std::string>();
    } catch (const Json::exception &e) { // A missing or mistyped field.
      return bad(e.what());
    }
    lastRun = seen.run;
    rows.push_back(std::move(seen));
  }
  if (run.empty())
    run = lastRun;
  for (const Seen &seen : rows) {
    if (seen.run != run)
      continue;
    ++found;
    // A later line wins: an ERROR that a resumed run repeated with success is done.
    finished.erase(seen.key);
    refused.erase(seen.anyRep);
    if (seen.status == "OK" || seen.status == "INCORRECT")
      finished.insert(seen.key);
    if (seen.status != "OK" && seen.status != "ERROR" && seen.status != "TIMEOUT")
      refused.insert(seen.anyRep);
  }
  return {};
}

RowFile::~RowFile() {
  if (file)
    std::fclose(file);
}

bool RowFile::done(const std::string &gpu, const std::string &implementation, const Config &config,
                   int rep) const {
  return finished.count(identity(gpu, implementation, config.key(), rep)) ||
         refused.count(identity(gpu, implementation, config.key(), -1));
}

Status RowFile::append(const Json &row) {
  const std::string line = row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  // One write call for the whole line: O_APPEND keeps it in one piece.
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = ::write(fileno(file), line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return environment(path, "cannot append a row");
    done += std::size_t(n);
  }
  return {};
}

} // namespace attnc::bench
