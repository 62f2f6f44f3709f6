// Reading and writing safetensors files: named tensors with dtype and shape, contiguous, row-major.
// For the inputs and outputs of `attnc run` and for tests. Not a way to stream weights: a file is
// read into memory whole.
//
// Reading is hardened like the package reader: any byte string gives tensors or an error.
#ifndef ATTNC_RUNTIME_SAFETENSORS_H
#define ATTNC_RUNTIME_SAFETENSORS_H

#include "attnc/Runtime/DataType.h"
#include "attnc/Runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

/// A tensor in host memory: contiguous, last dimension innermost.
struct HostTensor {
  std::string name;
  DataType dtype = DataType::F32;
  std::vector<std::int64_t> shape;
  /// Exactly numElements() * byteSize(dtype) bytes, little-endian.
  std::vector<std::byte> data;

  /// Product of the dimensions; 1 for a scalar (rank 0).
  std::int64_t numElements() const;
};

struct TensorFile {
  std::vector<HostTensor> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor called \p name, or null.
  const HostTensor *find(std::string_view name) const;
};

/// Parses a complete file. \p source names it in messages.
/// \returns InvalidArgument for anything malformed, Unsupported for a dtype we do not have.
Result<TensorFile> parseSafetensors(std::string_view bytes, const std::string &source);

/// Reads a file; each tensor's bytes are read straight into place.
Result<TensorFile> readSafetensors(const std::string &path);

/// The file as bytes. \returns InvalidArgument for duplicate or empty names, or a tensor whose data
/// does not have the size its shape says.
Result<std::string> serializeSafetensors(const TensorFile &file);

/// Writes atomically: a failed write leaves no file.
Status writeSafetensors(const TensorFile &file, const std::string &path);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_SAFETENSORS_H
