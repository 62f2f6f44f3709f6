// The part of cuDNN's backend API that the bench calls, declared by us from its documented ABI
// (cuDNN 9), so that building needs no cuDNN; the library is opened at run time.
#ifndef ATTNC_BENCH_CUDNNAPI_H
#define ATTNC_BENCH_CUDNNAPI_H

#include "Config.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace attnc::bench::cudnn {

using Handle = struct CudnnContext *;
using Descriptor = void *;

enum DataType : int { dataFloat = 0, dataHalf = 2, dataInt32 = 4, dataBf16 = 9, dataBool = 11 };

enum AttributeType : int {
  typeHandle = 0,
  typeDataType = 1,
  typeBoolean = 2,
  typeInt64 = 3,
  typeVoidPtr = 6,
  typeHeurMode = 8,
  typePointwiseMode = 14,
  typeDescriptor = 15,
  typeReductionOperator = 18,
  typeChar = 24,
};

enum DescriptorType : int {
  pointwiseDescriptor = 0,
  engineDescriptor = 2,
  engineCfgDescriptor = 3,
  engineHeurDescriptor = 4,
  executionPlanDescriptor = 5,
  operationPointwise = 13,
  operationGraph = 15,
  variantPack = 16,
  tensorDescriptor = 17,
  matmulDescriptor = 18,
  operationMatmul = 19,
  reductionDescriptor = 21,
  operationReduction = 22,
};

enum Attribute : int {
  pointwiseMode = 0,
  pointwiseMathPrec = 1,
  pointwiseAxis = 9,
  heurMode = 200,
  heurOperationGraph = 201,
  heurResults = 202,
  engineCfgEngine = 300,
  planHandle = 400,
  planEngineConfig = 401,
  planWorkspaceSize = 402,
  opPointwiseDescriptor = 750,
  opPointwiseX = 751,
  opPointwiseB = 752,
  opPointwiseY = 753,
  opPointwiseT = 758,
  graphHandle = 800,
  graphOps = 801,
  tensorByteAlignment = 900,
  tensorDataType = 901,
  tensorDimensions = 902,
  tensorStrides = 903,
  tensorUniqueId = 906,
  tensorIsVirtual = 907,
  tensorIsByValue = 908,
  packUniqueIds = 1000,
  packDataPointers = 1001,
  packWorkspace = 1003,
  engineGlobalIndex = 1301,
  matmulCompType = 1500,
  opMatmulA = 1520,
  opMatmulB = 1521,
  opMatmulC = 1522,
  opMatmulDescriptor = 1523,
  reductionOperator = 1600,
  reductionCompType = 1601,
  opReductionX = 1610,
  opReductionY = 1611,
  opReductionDescriptor = 1612,
};

enum PointwiseMode : int {
  pointwiseMul = 1,
  pointwiseDiv = 6,
  pointwiseSub = 9,
  pointwiseExp = 12,
  pointwiseCmpGe = 303,
  pointwiseGenIndex = 501,
  pointwiseBinarySelect = 601,
};
enum ReductionOperator : int { reduceAdd = 0, reduceMax = 3 };
enum HeurMode : int { heurModeInstant = 0, heurModeB = 1, heurModeFallback = 2, heurModeA = 3 };

/// The functions, null until loaded.
struct Api {
  std::size_t (*getVersion)() = nullptr;
  const char *(*getErrorString)(int) = nullptr;
  void (*getLastErrorString)(char *, std::size_t) = nullptr;
  int (*create)(Handle *) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*setStream)(Handle, void *) = nullptr;
  int (*createDescriptor)(int, Descriptor *) = nullptr;
  int (*destroyDescriptor)(Descriptor) = nullptr;
  int (*finalize)(Descriptor) = nullptr;
  int (*setAttribute)(Descriptor, int, int, std::int64_t, const void *) = nullptr;
  int (*getAttribute)(Descriptor, int, int, std::int64_t, std::int64_t *, void *) = nullptr;
  int (*execute)(Handle, Descriptor, Descriptor) = nullptr;
  std::string path;
};

/// Opens libcudnn once. \returns Environment: where it was looked for, or what it lacks.
Result<const Api *> load();

/// A failed call as a Status: its name, cuDNN's error, and what cuDNN said last. Codes of "not
/// supported" (3000 on) are Unsupported.
Status failure(const Api &api, const char *what, int code);

} // namespace attnc::bench::cudnn

#endif // ATTNC_BENCH_CUDNNAPI_H
