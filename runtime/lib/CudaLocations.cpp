// Finds CUDA directories from the environment and well-known places.
#include "attnc/Runtime/CudaLocations.h"

#include "StatusFormat.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace attnc::rt {
namespace {

bool isDirectory(const fs::path &path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> sortedSubdirectories(const fs::path &directory) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (isDirectory(it->path()))
      result.push_back(it->path());
  std::sort(result.begin(), result.end());
  return result;
}

std::string trimmed(const std::string &text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

class Finder {
public:
  explicit Finder(CudaLocations &result) : result(result) {}

  /// The usable entries of a ':' list, with a remark on everything that is not.
  std::vector<std::string> entriesOf(const std::string &variable) {
    std::vector<std::string> entries;
    const std::optional<std::string> value = result.environment(variable);
    if (!value)
      return entries;
    if (trimmed(*value).empty()) {
      result.remarks.push_back(variable + " is set but empty; it is ignored");
      return entries;
    }
    std::size_t begin = 0;
    bool sawEmpty = false, sawSpaces = false;
    while (begin <= value->size()) {
      const std::size_t end = std::min(value->find(':', begin), value->size());
      const std::string raw = value->substr(begin, end - begin);
      const std::string entry = trimmed(raw);
      sawSpaces |= entry != raw && !entry.empty();
      begin = end + 1;
      if (entry.empty())
        sawEmpty = true;
      else if (!isDirectory(entry))
        result.remarks.push_back(
            fmt::format("{} names '{}', which is not a directory; it is skipped", variable, entry));
      else
        entries.push_back(entry);
    }
    if (sawEmpty)
      result.remarks.push_back(
          fmt::format("{} is '{}'; its empty entry is ignored", variable, *value));
    if (sawSpaces)
      result.remarks.push_back(
          fmt::format("{} is '{}'; the spaces around its entry are ignored", variable, *value));
    return entries;
  }

  void addRoot(const fs::path &root) {
    add(result.libraryDirs, root / "lib64");
    add(result.libraryDirs, root / "lib");
    add(result.libraryDirs, root / "targets/x86_64-linux/lib");
    add(result.binaryDirs, root / "bin");
    add(result.includeDirs, root / "include");
  }

  /// A directory whose children are wheels: nvidia/cu13/{lib,bin,include}, nvidia/nvjitlink/lib, …
  void addWheels(const fs::path &directory) {
    for (const fs::path &wheel : sortedSubdirectories(directory))
      if (isDirectory(wheel / "lib") || isDirectory(wheel / "bin") ||
          isDirectory(wheel / "include"))
        addRoot(wheel);
  }

  void addEntry(const fs::path &entry) {
    addRoot(entry);
    addWheels(entry);
    add(result.libraryDirs, entry);
    add(result.binaryDirs, entry);
  }

private:
  void add(std::vector<std::string> &list, const fs::path &directory) {
    if (isDirectory(directory) &&
        std::find(list.begin(), list.end(), directory.string()) == list.end())
      list.push_back(directory.string());
  }

  CudaLocations &result;
};

bool isExecutable(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

} // namespace

std::optional<std::string> processEnvironment(const std::string &name) {
  const char *value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

CudaLocations CudaLocations::find(const EnvironmentLookup &environment) {
  CudaLocations result;
  result.environment = environment;
  Finder finder(result);
  for (const std::string &entry : finder.entriesOf("ATTNC_CUDA_PATH"))
    finder.addEntry(entry);
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    for (const std::string &entry : finder.entriesOf(variable))
      finder.addRoot(entry);
  if (const std::optional<std::string> venv = environment("VIRTUAL_ENV"); venv && !venv->empty())
    for (const fs::path &python : sortedSubdirectories(fs::path(*venv) / "lib"))
      finder.addWheels(python / "site-packages/nvidia");
  finder.addRoot("/usr/local/cuda");
  return result;
}

std::string CudaLocations::remarkSuffix() const {
  if (remarks.empty())
    return {};
  std::string text;
  for (const std::string &remark : remarks)
    text += (text.empty() ? " (" : "; ") + remark;
  return text + ")";
}

Result<std::string> CudaLocations::findProgram(const std::string &name,
                                               const std::string &overrideVariable) const {
  if (const std::optional<std::string> value = environment(overrideVariable)) {
    if (isExecutable(*value))
      return *value;
    return environmentError("{} is '{}', which is not an executable file; set it to {} or unset it",
                            overrideVariable, *value, name);
  }
  std::vector<std::string> directories = binaryDirs;
  const std::string path = environment("PATH").value_or("");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty entry of PATH means the current directory; we do not run programs from there.
    if (end > begin)
      directories.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string &directory : directories)
    if (isExecutable(fs::path(directory) / name))
      return (fs::path(directory) / name).string();
  std::string looked;
  for (const std::string &directory : directories)
    looked += (looked.empty() ? "" : ", ") + directory;
  return environmentError("{} not found; looked in {}; set {} to its path{}", name,
                          looked.empty() ? "no directory" : looked, overrideVariable,
                          remarkSuffix());
}

} // namespace attnc::rt
