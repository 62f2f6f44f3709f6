// File framing of packages: magic, manifest length, manifest, blobs.
#include "attnc/Runtime/Package.h"

#include "PackageManifest.h"
#include "StatusFormat.h"
#include "attnc/Runtime/FileIo.h"

namespace attnc::rt {
namespace {

constexpr std::string_view magic = "ATTNPKG1";
constexpr std::size_t headerBytes = 16;
constexpr std::uint64_t maxManifestBytes = std::uint64_t(16) << 20;
constexpr std::uint64_t maxFileBytes = std::uint64_t(1) << 30;

std::uint64_t readLittleEndian64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[std::size_t(i)]);
  return value;
}

std::string littleEndian64(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(value >> (8 * i) & 0xff);
  return bytes;
}

Manifest manifestOf(const Package &package) {
  Manifest manifest;
  manifest.package = package;
  std::uint64_t offset = 0;
  for (const auto &[name, bytes] : package.blobs) {
    manifest.blobs[name] = {offset, bytes.size()};
    offset += bytes.size();
  }
  return manifest;
}

} // namespace

std::string_view Package::blob(std::string_view name) const {
  auto it = blobs.find(std::string(name));
  return it == blobs.end() ? std::string_view() : std::string_view(it->second);
}

Result<std::string> Package::manifestJson() const {
  if (Status status = validate(); !status.ok())
    return status;
  try {
    return manifestToJson(manifestOf(*this)).dump(1);
  } catch (const std::exception &error) {
    // Text that is not UTF-8, which only a caller's string can be.
    return invalidArgument("package '{}' cannot be written as JSON: {}", name, error.what());
  }
}

Result<std::string> serializePackage(const Package &package) {
  Result<std::string> manifest = package.manifestJson();
  if (!manifest)
    return manifest.status();
  std::string bytes(magic);
  bytes += littleEndian64(manifest->size());
  bytes += *manifest;
  for (const auto &item : package.blobs)
    bytes += item.second;
  // Limits that only the reader knows (nesting, sizes) apply to the writer too.
  if (Result<Package> reread = parsePackage(bytes, package.name); !reread)
    return reread.status().withContext("refusing to write an unreadable package");
  return bytes;
}

Result<Package> parsePackage(std::string_view bytes, const std::string &source) {
  if (bytes.size() < headerBytes)
    return invalidArgument("{}: not a kernel package: {} bytes, the header alone has {}", source,
                           bytes.size(), headerBytes);
  if (bytes.substr(0, magic.size()) != magic)
    return invalidArgument("{}: not a kernel package: does not begin with {}", source, magic);
  const std::uint64_t manifestBytes = readLittleEndian64(bytes.substr(magic.size(), 8));
  const std::uint64_t rest = bytes.size() - headerBytes;
  if (manifestBytes > maxManifestBytes)
    return invalidArgument("{}: manifest of {} bytes; at most {} are allowed", source,
                           manifestBytes, maxManifestBytes);
  if (manifestBytes > rest)
    return invalidArgument("{}: truncated: the manifest has {} bytes, the file holds {} after its "
                           "header",
                           source, manifestBytes, rest);
  Result<Json> json = parseJson(bytes.substr(headerBytes, manifestBytes), source);
  if (!json)
    return json.status();
  Result<Manifest> manifest = manifestFromJson(*json);
  if (!manifest)
    return manifest.status().withContext(source);
  const std::string_view area = bytes.substr(headerBytes + manifestBytes);
  std::uint64_t total = 0;
  for (const auto &[name, range] : manifest->blobs) {
    if (range.offset > area.size() || range.size > area.size() - range.offset)
      return invalidArgument("{}: truncated: blob '{}' is at {} with {} bytes, the file holds {} "
                             "after its manifest",
                             source, name, range.offset, range.size, area.size());
    // Overlapping ranges would let a small file ask for a lot of memory.
    total += range.size;
    if (total > area.size())
      return invalidArgument("{}: blobs overlap: they have {} bytes in {}", source, total,
                             area.size());
    manifest->package.blobs[name] = std::string(area.substr(range.offset, range.size));
  }
  if (Status status = manifest->package.validate(); !status.ok())
    return status.withContext(source);
  return std::move(manifest->package);
}

Result<Package> readPackage(const std::string &path) {
  Result<std::string> bytes = readFile(path, maxFileBytes);
  if (!bytes)
    return bytes.status();
  return parsePackage(*bytes, path);
}

Status writePackage(const Package &package, const std::string &path) {
  Result<std::string> bytes = serializePackage(package);
  if (!bytes)
    return bytes.status();
  return writeFileAtomically(path, *bytes);
}

} // namespace attnc::rt
