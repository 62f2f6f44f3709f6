// CUDA C++ to PTX and cubin through NVRTC.
#include "attnc/Runtime/Nvrtc.h"

#include "StatusFormat.h"
#include "StatusMapping.h"
#include "attnc/Runtime/CudaApis.h"

#include <chrono>

namespace attnc::rt {
namespace {

using cuda::NvrtcApi;

/// Owns an NVRTC program.
class Program {
public:
  explicit Program(const NvrtcApi &api) : api(api) {}
  ~Program() {
    if (handle)
      api.nvrtcDestroyProgram(&handle);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const NvrtcApi &api;
  cuda::NvrtcProgram handle = nullptr;
};

using SizeFunction = cuda::NvrtcResultCode (*)(cuda::NvrtcProgram, std::size_t *);
using BytesFunction = cuda::NvrtcResultCode (*)(cuda::NvrtcProgram, char *);

Result<std::string> readBytes(const Program &program, SizeFunction getSize, BytesFunction getBytes,
                              const char *call) {
  std::size_t size = 0;
  if (auto code = getSize(program.handle, &size); code != 0)
    return nvrtcStatus(program.api, code, call);
  std::string bytes(size, '\0');
  if (size)
    if (auto code = getBytes(program.handle, bytes.data()); code != 0)
      return nvrtcStatus(program.api, code, call);
  return bytes;
}

void dropTerminator(std::string &text) {
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
}

} // namespace

Result<NvrtcResult> compileCuda(std::string_view source, std::string_view target,
                                const NvrtcOptions &options) {
  if (!isTargetName(target))
    return invalidArgument("target '{}' is not of the form sm_80 or sm_90a", target);
  Result<const NvrtcApi *> loaded = nvrtcApi();
  if (!loaded)
    return loaded.status();
  const NvrtcApi &api = **loaded;
  const auto start = std::chrono::steady_clock::now();

  std::vector<std::string> texts = {"--gpu-architecture=" + std::string(target),
                                    "--ptxas-options=-v"};
  if (options.toolkitHeaders)
    for (const std::string &directory : CudaLocations::find().includeDirs) {
      texts.push_back("--include-path=" + directory);
      // CUDA 13 keeps the C++ standard library for devices one level down.
      texts.push_back("--include-path=" + directory + "/cccl");
    }
  texts.insert(texts.end(), options.options.begin(), options.options.end());
  std::vector<const char *> arguments, headerTexts, headerNames;
  for (const std::string &text : texts)
    arguments.push_back(text.c_str());
  for (const auto &header : options.headers) {
    headerNames.push_back(header.first.c_str());
    headerTexts.push_back(header.second.c_str());
  }

  Program program(api);
  const std::string text(source);
  if (auto code =
          api.nvrtcCreateProgram(&program.handle, text.c_str(), options.name.c_str(),
                                 int(headerNames.size()), headerTexts.data(), headerNames.data());
      code != 0)
    return nvrtcStatus(api, code, "nvrtcCreateProgram");
  const auto compiled =
      api.nvrtcCompileProgram(program.handle, int(arguments.size()), arguments.data());
  Result<std::string> log =
      readBytes(program, api.nvrtcGetProgramLogSize, api.nvrtcGetProgramLog, "nvrtcGetProgramLog");
  if (!log)
    return log.status();
  dropTerminator(*log);
  if (compiled != 0) {
    const Status status = nvrtcStatus(api, compiled, "nvrtcCompileProgram");
    return Status(status.code(),
                  fmt::format("NVRTC {}.{} rejected '{}' for {}: {}", api.major, api.minor,
                              options.name, target,
                              log->empty() ? status.message() : firstErrorLine(*log)),
                  *log);
  }
  Result<std::string> ptx = readBytes(program, api.nvrtcGetPTXSize, api.nvrtcGetPTX, "nvrtcGetPTX");
  if (!ptx)
    return ptx.status();
  dropTerminator(*ptx);
  Result<std::string> cubin =
      readBytes(program, api.nvrtcGetCUBINSize, api.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  if (!cubin)
    return cubin.status();

  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  NvrtcResult result;
  result.ptx = std::move(*ptx);
  result.assembled.cubin = std::move(*cubin);
  result.assembled.log = std::move(*log);
  result.assembled.kernels = parseResources(result.assembled.log);
  result.assembled.warnings = parseWarnings(result.assembled.log);
  result.assembled.assembler = {Assembler::Nvrtc, api.path,
                                fmt::format("{}.{}", api.major, api.minor)};
  result.assembled.milliseconds = elapsed.count();
  return result;
}

} // namespace attnc::rt
