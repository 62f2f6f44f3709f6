// Chooses an assembler, runs it, and turns what it says into a result or an error.
#include "attnc/Runtime/Assemble.h"

#include "AssemblerBackends.h"
#include "StatusFormat.h"
#include "Subprocess.h"
#include "attnc/Runtime/CudaApis.h"
#include "attnc/Runtime/FileIo.h"

#include <cctype>
#include <chrono>
#include <map>
#include <mutex>

namespace attnc::rt {
namespace {

constexpr Assembler allAssemblers[] = {Assembler::Ptxas, Assembler::NvJitLink, Assembler::Driver};

std::optional<Assembler> parseAssembler(const std::string &name) {
  for (Assembler assembler : allAssemblers)
    if (name == assemblerName(assembler))
      return assembler;
  return std::nullopt;
}

/// "13.0" out of "Cuda compilation tools, release 13.0, V13.0.88". A ptxas that does not even tell
/// its version (a wrapper of a removed toolkit, say) is as good as none.
Result<std::string> ptxasVersion(const std::string &path) {
  Result<SubprocessOutput> output = runSubprocess({path, "--version"});
  if (!output)
    return output.status();
  if (output->exitCode != 0)
    return environmentError("'{} --version' ended with exit code {}: {}", path, output->exitCode,
                            firstErrorLine(output->text));
  const std::size_t begin = output->text.find("release ");
  const std::size_t end = output->text.find(',', begin);
  if (begin == std::string::npos || end == std::string::npos)
    return environmentError("'{} --version' does not answer like ptxas: {}", path,
                            firstErrorLine(output->text));
  return output->text.substr(begin + 8, end - begin - 8);
}

/// The ptxas of this process's environment. Looked for each time, asked for its version once a
/// path.
Result<AssemblerInfo> findPtxas() {
  Result<std::string> path = CudaLocations::find().findProgram("ptxas", "ATTNC_PTXAS");
  if (!path)
    return path.status();
  static std::mutex mutex;
  static std::map<std::string, std::string> versions;
  std::lock_guard<std::mutex> lock(mutex);
  auto known = versions.find(*path);
  if (known == versions.end()) {
    Result<std::string> version = ptxasVersion(*path);
    if (!version)
      return version.status();
    known = versions.emplace(*path, std::move(*version)).first;
  }
  return AssemblerInfo{Assembler::Ptxas, *path, known->second};
}

Result<AssemblerInfo> probe(Assembler assembler) {
  switch (assembler) {
  case Assembler::NvJitLink: {
    Result<const cuda::NvJitLinkApi *> api = nvJitLinkApi();
    if (!api)
      return api.status();
    return AssemblerInfo{assembler, (*api)->path,
                         fmt::format("{}.{}", (*api)->major, (*api)->minor)};
  }
  case Assembler::Ptxas:
    return findPtxas();
  case Assembler::Driver: {
    Result<const cuda::DriverApi *> api = driverApi();
    if (!api)
      return api.status();
    return AssemblerInfo{assembler, (*api)->path,
                         fmt::format("{}.{}", (*api)->version / 1000, (*api)->version % 1000 / 10)};
  }
  case Assembler::Nvrtc:
    break;
  }
  return invalidArgument("{} does not take PTX; allowed are nvjitlink, ptxas, driver",
                         assemblerName(assembler));
}

Result<AssemblerInfo> chooseAssembler(const AssembleOptions &options) {
  std::optional<Assembler> wanted = options.use;
  std::string reason = "it was asked for";
  if (!wanted)
    if (std::optional<std::string> value = processEnvironment("ATTNC_ASSEMBLER")) {
      wanted = parseAssembler(*value);
      reason = "ATTNC_ASSEMBLER asks for it";
      if (!wanted)
        return invalidArgument(
            "ATTNC_ASSEMBLER is '{}'; allowed are nvjitlink, ptxas, driver (or unset it)", *value);
    }
  if (wanted) {
    Result<AssemblerInfo> info = probe(*wanted);
    if (!info)
      return info.status().withContext(
          fmt::format("assembler {} cannot be used ({})", assemblerName(*wanted), reason));
    return info;
  }
  std::string reasons;
  for (Assembler assembler : allAssemblers) {
    Result<AssemblerInfo> info = probe(assembler);
    if (info)
      return info;
    reasons += fmt::format("\n  {}: {}", assemblerName(assembler), info.status().message());
  }
  return environmentError("no assembler for PTX on this machine; one of these is needed:{}",
                          reasons);
}

Result<BackendOutput> runBackend(const AssemblerInfo &assembler, std::string_view ptx,
                                 std::string_view target, const AssembleOptions &options) {
  switch (assembler.kind) {
  case Assembler::NvJitLink:
    return assembleWithNvJitLink(ptx, target, options);
  case Assembler::Ptxas:
    return assembleWithPtxas(assembler.path, ptx, target, options);
  case Assembler::Driver:
    return assembleWithDriver(ptx, target, options);
  case Assembler::Nvrtc:
    break;
  }
  return probe(assembler.kind).status();
}

Status rejection(const AssemblerInfo &assembler, std::string_view ptx, std::string_view target,
                 const AssembleOptions &options, const std::string &log) {
  std::string kept;
  if (options.keepRejectedPtx) {
    Result<std::string> file = writeTemporaryFile(
        ptx, "attnc-" + options.name + "-" + std::string(target), ".ptx", options.tempDirectory);
    kept = file ? fmt::format("; the PTX is kept in {}", *file)
                : fmt::format("; the PTX could not be kept: {}", file.status().message());
  }
  return Status(StatusCode::CompileFailed,
                fmt::format("{} {} rejected the PTX of '{}' for {}: {}{}",
                            assemblerName(assembler.kind), assembler.version, options.name, target,
                            firstErrorLine(log), kept),
                log);
}

} // namespace

const char *assemblerName(Assembler assembler) {
  switch (assembler) {
  case Assembler::NvJitLink:
    return "nvjitlink";
  case Assembler::Ptxas:
    return "ptxas";
  case Assembler::Driver:
    return "driver";
  case Assembler::Nvrtc:
    return "nvrtc";
  }
  return "unknown";
}

bool isTargetName(std::string_view target) {
  if (target.substr(0, 3) != "sm_")
    return false;
  target.remove_prefix(3);
  if (!target.empty() && (target.back() == 'a' || target.back() == 'f'))
    target.remove_suffix(1);
  if (target.size() < 2 || target.size() > 3)
    return false;
  for (unsigned char c : target)
    if (!std::isdigit(c))
      return false;
  return true;
}

std::vector<std::string> ptxasOptions(const AssembleOptions &options) {
  std::vector<std::string> result = {"-O" + std::to_string(options.optLevel)};
  if (options.lineInfo)
    result.push_back("-lineinfo");
  if (options.maxRegisters > 0)
    result.push_back("-maxrregcount=" + std::to_string(options.maxRegisters));
  result.insert(result.end(), options.extra.begin(), options.extra.end());
  return result;
}

std::vector<AssemblerInfo> availableAssemblers() {
  std::vector<AssemblerInfo> result;
  for (Assembler assembler : allAssemblers) {
    Result<AssemblerInfo> info = probe(assembler);
    if (!info)
      continue;
    if (assembler == Assembler::Driver) {
      int count = 0;
      if ((*driverApi())->cuDeviceGetCount(&count) != cuda::success || count == 0)
        continue;
    }
    result.push_back(std::move(*info));
  }
  return result;
}

Result<AssembleResult> assemble(std::string_view ptx, std::string_view target,
                                const AssembleOptions &options) {
  if (!isTargetName(target))
    return invalidArgument("target '{}' is not of the form sm_80 or sm_90a", target);
  if (options.optLevel < 0 || options.optLevel > 4)
    return invalidArgument("optimisation level {} is not one of 0 to 4", options.optLevel);
  Result<AssemblerInfo> assembler = chooseAssembler(options);
  if (!assembler)
    return assembler.status();
  const auto start = std::chrono::steady_clock::now();
  Result<BackendOutput> output = runBackend(*assembler, ptx, target, options);
  if (!output)
    return output.status().withContext(fmt::format("assembling '{}' for {}", options.name, target));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!output->accepted)
    return rejection(*assembler, ptx, target, options, output->log);
  AssembleResult result;
  result.cubin = std::move(output->cubin);
  result.log = std::move(output->log);
  result.kernels = parseResources(result.log);
  result.warnings = parseWarnings(result.log);
  result.assembler = std::move(*assembler);
  result.milliseconds = elapsed.count();
  return result;
}

} // namespace attnc::rt
