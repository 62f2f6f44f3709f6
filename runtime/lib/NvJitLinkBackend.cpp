// PTX to cubin in process, through nvJitLink.
#include "AssemblerBackends.h"

#include "StatusFormat.h"
#include "StatusMapping.h"
#include "attnc/Runtime/CudaApis.h"

namespace attnc::rt {
namespace {

using cuda::NvJitLinkApi;
using cuda::NvJitLinkHandle;
using cuda::NvJitLinkResultCode;

std::string readLog(NvJitLinkHandle handle,
                    NvJitLinkResultCode (*getSize)(NvJitLinkHandle, std::size_t *),
                    NvJitLinkResultCode (*getText)(NvJitLinkHandle, char *)) {
  std::size_t size = 0;
  if (getSize(handle, &size) != 0 || size == 0)
    return {};
  std::string text(size, '\0');
  if (getText(handle, text.data()) != 0)
    return {};
  // The size counts the terminating zero in some versions and not in others.
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

} // namespace

Result<BackendOutput> assembleWithNvJitLink(std::string_view ptx, std::string_view target,
                                            const AssembleOptions &options) {
  Result<const NvJitLinkApi *> loaded = nvJitLinkApi();
  if (!loaded)
    return loaded.status();
  const NvJitLinkApi &api = **loaded;

  std::vector<std::string> texts = {"-arch=" + std::string(target), "-Xptxas=-v"};
  for (const std::string &option : ptxasOptions(options)) {
    // These two nvJitLink wants to know itself; everything else is for ptxas alone.
    if (option == "-lineinfo" || option.rfind("-maxrregcount", 0) == 0 ||
        option.rfind("-O", 0) == 0)
      texts.push_back(option);
    else
      texts.push_back("-Xptxas=" + option);
  }
  std::vector<const char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(text.c_str());

  NvJitLinkHandle handle = nullptr;
  NvJitLinkResultCode code =
      api.nvJitLinkCreate(&handle, std::uint32_t(pointers.size()), pointers.data());
  const char *call = "nvJitLinkCreate";
  // A zero at the end: some versions read PTX as a C string.
  const std::string input(ptx);
  const std::string inputName = options.name + ".ptx";
  if (code == 0) {
    call = "nvJitLinkAddData";
    code = api.nvJitLinkAddData(handle, cuda::nvJitLinkInputPtx, input.c_str(), input.size() + 1,
                                inputName.c_str());
  }
  if (code == 0) {
    call = "nvJitLinkComplete";
    code = api.nvJitLinkComplete(handle);
  }
  BackendOutput output;
  if (code == 0) {
    std::size_t size = 0;
    call = "nvJitLinkGetLinkedCubin";
    code = api.nvJitLinkGetLinkedCubinSize(handle, &size);
    if (code == 0) {
      output.cubin.resize(size);
      code = api.nvJitLinkGetLinkedCubin(handle, output.cubin.data());
    }
  }
  output.accepted = code == 0;
  if (handle) {
    output.log = readLog(handle, api.nvJitLinkGetErrorLogSize, api.nvJitLinkGetErrorLog);
    const std::string info = readLog(handle, api.nvJitLinkGetInfoLogSize, api.nvJitLinkGetInfoLog);
    if (!output.log.empty() && !info.empty())
      output.log += '\n';
    output.log += info;
    api.nvJitLinkDestroy(&handle);
  }
  if (code != 0 && output.log.empty())
    output.log = nvJitLinkStatus(code, call).message() + " (error; no log)";
  return output;
}

} // namespace attnc::rt
