// The few types and constants of NVIDIA's C interfaces that the runtime uses, declared by us from
// the documented ABI, so that building needs no CUDA toolkit. In a namespace of their own: they may
// meet the real <cuda.h> in one file.
#ifndef ATTNC_RUNTIME_CUDATYPES_H
#define ATTNC_RUNTIME_CUDATYPES_H

#include <cstddef>
#include <cstdint>

namespace attnc::rt::cuda {

// Driver API handles.
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct ContextHandle *;
using CUmodule = struct ModuleHandle *;
using CUfunction = struct FunctionHandle *;
using CUstream = struct StreamHandle *;
using CUevent = struct EventHandle *;
using CUgraph = struct GraphHandle *;
using CUgraphExec = struct GraphExecHandle *;
using CUlinkState = struct LinkHandle *;

/// CUresult and the other result types are plain C enums of this size.
using CUresult = int;
using NvrtcResultCode = int;
using NvJitLinkResultCode = int;
using NvmlReturn = int;

using NvrtcProgram = struct NvrtcProgramHandle *;
using NvJitLinkHandle = struct NvJitLinkObject *;
using NvmlDevice = struct NvmlDeviceHandle *;

/// CUresult values that are treated differently from the rest.
enum : CUresult {
  success = 0,
  errorInvalidValue = 1,
  errorOutOfMemory = 2,
  errorStubLibrary = 34,
  errorNoDevice = 100,
  errorInvalidDevice = 101,
  errorInvalidImage = 200,
  errorNoBinaryForGpu = 209,
  errorInvalidPtx = 218,
  errorJitCompilerNotFound = 221,
  errorUnsupportedPtxVersion = 222,
  errorNotFound = 500,
  errorIllegalAddress = 700,
  errorLaunchOutOfResources = 701,
  errorLaunchTimeout = 702,
  errorAssert = 710,
  errorHardwareStack = 714,
  errorIllegalInstruction = 715,
  errorMisalignedAddress = 716,
  errorInvalidAddressSpace = 717,
  errorInvalidPc = 718,
  errorLaunchFailed = 719,
};

/// CUdevice_attribute.
enum DeviceAttribute : int {
  maxThreadsPerBlock = 1,
  clockRateKhz = 13,
  multiprocessorCount = 16,
  memoryClockKhz = 36,
  memoryBusBits = 37,
  l2CacheBytes = 38,
  computeMajor = 75,
  computeMinor = 76,
  sharedPerMultiprocessor = 81,
  sharedPerBlockOptin = 97,
};

/// CUfunction_attribute.
enum FunctionAttribute : int {
  functionMaxThreads = 0,
  functionStaticShared = 1,
  functionLocalBytes = 3,
  functionRegisters = 4,
  functionMaxDynamicShared = 8,
};

/// CUjit_option.
enum JitOption : int {
  jitMaxRegisters = 0,
  jitInfoLog = 3,
  jitInfoLogBytes = 4,
  jitErrorLog = 5,
  jitErrorLogBytes = 6,
  jitOptimizationLevel = 7,
  jitLogVerbose = 12,
  jitGenerateLineInfo = 13,
};

/// CUtensorMapDataType.
enum TensorMapType : int {
  tensorMapU8 = 0,
  tensorMapF16 = 6,
  tensorMapF32 = 7,
  tensorMapBF16 = 9,
};

enum : int {
  tensorMapNoInterleave = 0, ///< CUtensorMapInterleave
  tensorMapPromote128 = 2,   ///< CUtensorMapL2promotion: 256 bytes cost decode 6 to 9% here.
  tensorMapFillZero = 0,     ///< CUtensorMapFloatOOBfill
};

enum : int {
  jitInputPtx = 1,            ///< CUjitInputType
  streamNonBlocking = 1,      ///< CUstream_flags
  captureThreadLocal = 1,     ///< CUstreamCaptureMode
  nvJitLinkInputPtx = 2,      ///< nvJitLinkInputType
  pointerAttributeDevice = 9, ///< CUpointer_attribute
};

} // namespace attnc::rt::cuda

#endif // ATTNC_RUNTIME_CUDATYPES_H
