// Maps result codes of the driver, NVML, NVRTC and nvJitLink to Status.
#include "StatusMapping.h"

#include "StatusFormat.h"

namespace attnc::rt {
namespace {

StatusCode codeOf(cuda::CUresult result) {
  using namespace cuda;
  switch (result) {
  case errorOutOfMemory:
    return StatusCode::OutOfMemory;
  case errorNoBinaryForGpu:
  case errorUnsupportedPtxVersion:
    return StatusCode::Unsupported;
  case errorInvalidPtx:
    return StatusCode::CompileFailed;
  // The caller checked its arguments before the call, and a kernel must not fault: ours to mend.
  case errorInvalidValue:
  case errorInvalidImage:
  case errorNotFound:
  case errorIllegalAddress:
  case errorLaunchOutOfResources:
  case errorAssert:
  case errorHardwareStack:
  case errorIllegalInstruction:
  case errorMisalignedAddress:
  case errorInvalidAddressSpace:
  case errorInvalidPc:
  case errorLaunchFailed:
    return StatusCode::Internal;
  default:
    return StatusCode::Environment;
  }
}

const char *adviceFor(cuda::CUresult result) {
  using namespace cuda;
  switch (result) {
  case errorStubLibrary:
    return "; this libcuda is the toolkit's stub: take the toolkit's lib/stubs out of "
           "LD_LIBRARY_PATH";
  case errorNoDevice:
    return "; no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES";
  case errorUnsupportedPtxVersion:
    return "; the PTX is newer than the driver: load a cubin, or update the driver";
  case errorIllegalAddress:
  case errorMisalignedAddress:
  case errorLaunchFailed:
    return "; the CUDA context is lost, restart the process";
  default:
    return "";
  }
}

} // namespace

Status driverStatus(const cuda::DriverApi &api, cuda::CUresult result, const char *call,
                    const CallContext &context) {
  if (result == cuda::success)
    return {};
  const char *name = nullptr;
  const char *text = nullptr;
  if (!api.cuGetErrorName || api.cuGetErrorName(result, &name) != cuda::success || !name)
    name = "unknown CUresult";
  if (!api.cuGetErrorString || api.cuGetErrorString(result, &text) != cuda::success || !text)
    text = "no description";
  std::string where;
  if (!context.kernel.empty())
    where = "kernel " + context.kernel;
  if (!context.sm.empty())
    where += (where.empty() ? "" : ", ") + context.sm;
  if (!where.empty())
    where = " [" + where + "]";
  return makeError(codeOf(result), "{} failed: {} ({}, {}){}{}", call, name, result, text, where,
                   adviceFor(result));
}

Status nvmlStatus(const cuda::NvmlApi &api, cuda::NvmlReturn result, const char *call) {
  if (result == 0)
    return {};
  const char *text = api.nvmlErrorString ? api.nvmlErrorString(result) : nullptr;
  return environmentError("{} failed: {} ({})", call, text ? text : "unknown nvmlReturn_t", result);
}

Status nvrtcStatus(const cuda::NvrtcApi &api, cuda::NvrtcResultCode result, const char *call) {
  // nvrtcResult: 1 is out of memory, 5 an option NVRTC does not know, 6 a compilation error.
  if (result == 0)
    return {};
  const StatusCode code = result == 1   ? StatusCode::OutOfMemory
                          : result == 5 ? StatusCode::InvalidArgument
                          : result == 6 ? StatusCode::CompileFailed
                                        : StatusCode::Environment;
  const char *text = api.nvrtcGetErrorString ? api.nvrtcGetErrorString(result) : nullptr;
  return makeError(code, "{} failed: {} ({})", call, text ? text : "unknown nvrtcResult", result);
}

const char *nvJitLinkResultName(cuda::NvJitLinkResultCode result) {
  static constexpr const char *names[] = {
      "NVJITLINK_SUCCESS",
      "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
      "NVJITLINK_ERROR_MISSING_ARCH",
      "NVJITLINK_ERROR_INVALID_INPUT",
      "NVJITLINK_ERROR_PTX_COMPILE",
      "NVJITLINK_ERROR_NVVM_COMPILE",
      "NVJITLINK_ERROR_INTERNAL",
      "NVJITLINK_ERROR_THREADPOOL",
      "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
      "NVJITLINK_ERROR_FINALIZE",
      "NVJITLINK_ERROR_NULL_INPUT",
      "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
      "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
      "NVJITLINK_ERROR_ARCH_MISMATCH",
      "NVJITLINK_ERROR_OUTDATED_LIBRARY",
      "NVJITLINK_ERROR_MISSING_FATBIN",
      "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
      "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
      "NVJITLINK_ERROR_LTO_NOT_ENABLED",
  };
  constexpr int count = int(sizeof(names) / sizeof(names[0]));
  return result >= 0 && result < count ? names[result] : "unknown nvJitLinkResult";
}

Status nvJitLinkStatus(cuda::NvJitLinkResultCode result, const char *call) {
  if (result == 0)
    return {};
  const StatusCode code = result == 4                    ? StatusCode::CompileFailed
                          : result == 16 || result == 17 ? StatusCode::Unsupported
                                                         : StatusCode::Environment;
  return makeError(code, "{} failed: {} ({})", call, nvJitLinkResultName(result), result);
}

} // namespace attnc::rt
