// What the result codes of NVIDIA's libraries mean to us. The only place that decides.
#ifndef ATTNC_RUNTIME_LIB_STATUSMAPPING_H
#define ATTNC_RUNTIME_LIB_STATUSMAPPING_H

#include "attnc/Runtime/CudaApis.h"
#include "attnc/Runtime/Status.h"

#include <string>

namespace attnc::rt {

/// What a failing driver call was about; empty parts are left out of the message.
struct CallContext {
  std::string kernel;
  std::string sm;
};

/// "cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (invalid argument) [kernel f, sm_90]".
/// \p result may be success, which gives success.
Status driverStatus(const cuda::DriverApi &api, cuda::CUresult result, const char *call,
                    const CallContext &context = {});

Status nvmlStatus(const cuda::NvmlApi &api, cuda::NvmlReturn result, const char *call);
Status nvrtcStatus(const cuda::NvrtcApi &api, cuda::NvrtcResultCode result, const char *call);
Status nvJitLinkStatus(cuda::NvJitLinkResultCode result, const char *call);

/// NVJITLINK_… name of a code; the library has no function for it.
const char *nvJitLinkResultName(cuda::NvJitLinkResultCode result);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_STATUSMAPPING_H
