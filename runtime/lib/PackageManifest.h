// The JSON side of packages: manifest to struct and back. Blobs and file framing are in
// Package.cpp.
#ifndef ATTNC_RUNTIME_LIB_PACKAGEMANIFEST_H
#define ATTNC_RUNTIME_LIB_PACKAGEMANIFEST_H

#include "JsonText.h"
#include "attnc/Runtime/Package.h"

#include <cstdint>
#include <map>
#include <string>

namespace attnc::rt {

/// Where a blob lies, in bytes from the end of the manifest.
struct BlobRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Manifest {
  Package package; ///< Without blobs.
  std::map<std::string, BlobRange> blobs;
};

/// \returns InvalidArgument naming the field. Ranges are only checked to be non-negative: the
/// file's size is the caller's to know.
Result<Manifest> manifestFromJson(const Json &json);

Json manifestToJson(const Manifest &manifest);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_PACKAGEMANIFEST_H
