// PTX to cubin by the ptxas executable, through temporary files.
#include "AssemblerBackends.h"

#include "StatusFormat.h"
#include "Subprocess.h"
#include "attnc/Runtime/FileIo.h"

#include <unistd.h>

namespace attnc::rt {
namespace {

/// Removes a file at the end of a scope.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() {
    if (!path.empty())
      ::unlink(path.c_str());
  }
};

} // namespace

Result<BackendOutput> assembleWithPtxas(const std::string &ptxasPath, std::string_view ptx,
                                        std::string_view target, const AssembleOptions &options) {
  Result<std::string> inputPath =
      writeTemporaryFile(ptx, "attnc-" + options.name, ".ptx", options.tempDirectory);
  if (!inputPath)
    return inputPath.status();
  const TemporaryFile input{*inputPath};
  Result<std::string> cubinPath =
      writeTemporaryFile({}, "attnc-" + options.name, ".cubin", options.tempDirectory);
  if (!cubinPath)
    return cubinPath.status();
  const TemporaryFile cubin{*cubinPath};

  std::vector<std::string> arguments = {ptxasPath, "-arch=" + std::string(target), "-v"};
  for (const std::string &option : ptxasOptions(options))
    arguments.push_back(option);
  arguments.insert(arguments.end(), {input.path, "-o", cubin.path});
  Result<SubprocessOutput> run = runSubprocess(arguments);
  if (!run)
    return run.status();

  BackendOutput output;
  output.log = std::move(run->text);
  if (run->exitCode != 0) {
    if (output.log.empty())
      output.log = fmt::format("error: {} ended with exit code {} and printed nothing", ptxasPath,
                               run->exitCode);
    return output;
  }
  Result<std::string> bytes = readFile(cubin.path);
  if (!bytes)
    return bytes.status();
  output.accepted = true;
  output.cubin = std::move(*bytes);
  return output;
}

} // namespace attnc::rt
