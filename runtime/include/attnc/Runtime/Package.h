// The kernel package: what the compiler hands to the runtime, as a plain struct, and its file form.
// The layout of the file is described in docs/Runtime.md. Nothing here needs a GPU.
//
// Reading is hardened: any byte string gives a package or an error, never a crash. Writing refuses
// what reading would refuse, so that a compiler bug shows at compile time.
#ifndef ATTNC_RUNTIME_PACKAGE_H
#define ATTNC_RUNTIME_PACKAGE_H

#include "attnc/Runtime/DataType.h"
#include "attnc/Runtime/Expression.h"
#include "attnc/Runtime/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

enum class ParamKind : std::uint8_t { Tensor, I32, I64, F32, TensorMap };

/// One kernel parameter as the caller sees it; a tensor expands to a pointer and strides, a tensor
/// map to the 128 bytes that describe the tensor bound to its name to the copy engine.
struct ParamDesc {
  std::string name;
  ParamKind kind = ParamKind::I32;
  // The rest is for tensors and tensor maps only.
  DataType dtype = DataType::F32;
  int rank = 0;
  /// The innermost stride must be 1 and is not passed.
  bool unitInner = true;
  /// Required alignment in bytes of the base address and of every passed stride; 0 means the
  /// default: 16 for q, k, v and o, the element size for everything else.
  int align = 0;
  /// Expected shape, for tensors whose name does not already fix it (`arg.NAME`); empty if unknown.
  std::vector<Expression> shape;
  /// Tensor maps only: elements of one copy along each logical dimension, and the bytes of the
  /// pattern in shared memory (0, 32, 64 or 128).
  std::vector<int> box;
  int swizzle = 0;
};

/// One launch. Grids are one-dimensional.
struct KernelDesc {
  std::string entry;
  /// "main" or "combine"; kernels run in the order of the manifest whatever the role.
  std::string role = "main";
  /// Threads in a block.
  int block = 0;
  /// Dynamic shared memory in bytes.
  std::int64_t sharedBytes = 0;
  Expression grid;
  std::vector<ParamDesc> params;
};

/// A temporary tensor: contiguous, 256-byte aligned, passed to kernels under its name.
struct WorkspaceDesc {
  std::string name;
  DataType dtype = DataType::F32;
  std::vector<Expression> shape;
};

/// The fixed part of the problem the kernels were compiled for.
struct ProblemDesc {
  std::string kind; ///< "prefill" or "decode".
  std::int64_t headsQ = 0, headsKv = 0;
  std::int64_t dimQk = 0, dimV = 0;
  DataType q = DataType::BF16, kv = DataType::BF16, o = DataType::BF16;
  std::string layout = "bshd";          ///< "bshd" or "bhsd": the memory order the tuning assumed.
  std::string seq = "dense";            ///< "dense", "varlen" or "kv_lens".
  std::optional<std::int64_t> pageSize; ///< Tokens per page of a paged cache.
  std::vector<std::string> outputs = {"o"}; ///< A subset of "o", "lse".
  std::optional<std::int64_t> maxQ;         ///< Largest query length the kernels take.
};

struct Package {
  static constexpr int formatVersion = 1;

  std::string name;
  std::string compiler;   ///< Compiler name, version, build id.
  std::string specHash;   ///< Lower-case hexadecimal.
  std::string spec;       ///< Canonical text of the spec.
  std::string target;     ///< "sm_90a".
  std::string ptxVersion; ///< "8.0"; empty when there is no PTX.
  ProblemDesc problem;
  /// The chosen configuration, for people and for tuning stores; the runtime does not read it.
  std::map<std::string, std::int64_t> config;
  std::vector<KernelDesc> kernels;
  std::vector<WorkspaceDesc> workspace;
  /// Binary parts by name. "ptx" and "cubin" are the ones the runtime loads; one of them must
  /// exist.
  std::map<std::string, std::string> blobs;

  /// Blob contents, or an empty view.
  std::string_view blob(std::string_view name) const;

  /// Everything a reader relies on. \returns InvalidArgument naming the field.
  Status validate() const;

  /// The manifest as JSON text, with the offsets the blobs get in the file.
  Result<std::string> manifestJson() const;
};

/// The complete file as bytes. \returns InvalidArgument if `validate` does.
Result<std::string> serializePackage(const Package &package);

/// Parses a complete file. \p source names it in messages.
Result<Package> parsePackage(std::string_view bytes, const std::string &source);

/// Reads NAME.SM.attnpkg. \returns Environment if the file cannot be read.
Result<Package> readPackage(const std::string &path);

/// Writes atomically: a failed write leaves no file.
Status writePackage(const Package &package, const std::string &path);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_PACKAGE_H
