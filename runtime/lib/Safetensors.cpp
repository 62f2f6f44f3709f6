// The safetensors format: 8 bytes header length, JSON header, tensor bytes without holes.
#include "attnc/Runtime/Safetensors.h"

#include "CheckedMath.h"
#include "JsonText.h"
#include "StatusFormat.h"
#include "attnc/Runtime/FileIo.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <tuple>

namespace attnc::rt {
namespace {

constexpr std::size_t lengthBytes = 8;
// The limit of the format's own implementation.
constexpr std::uint64_t maxHeaderBytes = 100'000'000;
constexpr std::size_t maxRank = 8;

/// A tensor's place in the data area.
struct Entry {
  HostTensor tensor; // Without data.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<Entry> entries; // Ordered by offset.
  std::map<std::string, std::string> metadata;
};

std::uint64_t readLittleEndian64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[std::size_t(i)]);
  return value;
}

/// Bytes of a tensor, or nothing when the product leaves 64 bits.
std::optional<std::int64_t> tensorBytes(const std::vector<std::int64_t> &shape, DataType dtype) {
  // A zero anywhere makes the size 0, whatever the other dimensions multiply to.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  std::optional<std::int64_t> bytes = byteSize(dtype);
  for (std::int64_t dimension : shape)
    if (bytes)
      bytes = checkedMul(*bytes, dimension);
  return bytes;
}

Result<Entry> readEntry(const std::string &name, const Json &json, std::uint64_t dataBytes) {
  Status status;
  const std::string path = "tensor '" + name.substr(0, 128) + "'";
  JsonFields fields(json, path, status);
  Entry entry;
  entry.tensor.name = name;
  const std::string dtype = fields.string("dtype");
  const Json *shape = fields.array("shape");
  const Json *offsets = fields.array("data_offsets");
  if (!status.ok())
    return status;
  std::optional<DataType> type = parseSafetensorsName(dtype);
  if (!type)
    return unsupported("{}: dtype '{}' is not supported; supported are BF16, F16, F32, F64, I32, "
                       "I64, U8, BOOL, F8_E4M3, F8_E5M2",
                       path, dtype.substr(0, 64));
  entry.tensor.dtype = *type;
  if (shape->size() > maxRank)
    return invalidArgument("{}: {} dimensions; at most {} are allowed", path, shape->size(),
                           maxRank);
  for (const Json &dimension : *shape) {
    if (!dimension.is_number_unsigned() ||
        dimension.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max()))
      return invalidArgument("{}: shape has {}; dimensions are integers from 0", path,
                             dimension.is_number() ? dimension.dump() : describeJson(dimension));
    entry.tensor.shape.push_back(dimension.get<std::int64_t>());
  }
  if (offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned())
    return invalidArgument("{}: data_offsets must be two integers from 0", path);
  entry.begin = (*offsets)[0].get<std::uint64_t>();
  entry.end = (*offsets)[1].get<std::uint64_t>();
  if (entry.begin > entry.end || entry.end > dataBytes)
    return invalidArgument("{}: data_offsets [{}, {}] do not lie in the {} bytes of data", path,
                           entry.begin, entry.end, dataBytes);
  std::optional<std::int64_t> bytes = tensorBytes(entry.tensor.shape, *type);
  if (!bytes || std::uint64_t(*bytes) != entry.end - entry.begin)
    return invalidArgument("{}: the shape needs {} bytes, data_offsets give {}", path,
                           bytes ? std::to_string(*bytes) : "more than 2^63",
                           entry.end - entry.begin);
  return entry;
}

Result<Header> parseHeader(std::string_view text, std::uint64_t dataBytes,
                           const std::string &source) {
  Result<Json> json = parseJson(text, source);
  if (!json)
    return json.status();
  if (!json->is_object())
    return invalidArgument("{}: the header must be an object, found {}", source,
                           describeJson(*json));
  Header header;
  for (const auto &item : json->items()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_object())
        return invalidArgument("{}: __metadata__ must be an object", source);
      for (const auto &field : item.value().items()) {
        if (!field.value().is_string())
          return invalidArgument("{}: __metadata__ holds strings only", source);
        header.metadata[field.key()] = field.value().get<std::string>();
      }
      continue;
    }
    Result<Entry> entry = readEntry(item.key(), item.value(), dataBytes);
    if (!entry)
      return entry.status().withContext(source);
    header.entries.push_back(std::move(*entry));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const Entry &a, const Entry &b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  std::uint64_t position = 0;
  for (const Entry &entry : header.entries) {
    if (entry.begin != position)
      return invalidArgument("{}: tensor '{}' begins at {}, the one before ends at {}; the format "
                             "allows neither holes nor overlap",
                             source, entry.tensor.name.substr(0, 128), entry.begin, position);
    position = entry.end;
  }
  if (position != dataBytes)
    return invalidArgument("{}: {} bytes after the last tensor belong to none", source,
                           dataBytes - position);
  return header;
}

/// Checks the length field of a file of \p fileBytes. \returns the header's size.
Result<std::uint64_t> headerSize(std::string_view lengthField, std::uint64_t fileBytes,
                                 const std::string &source) {
  if (fileBytes < lengthBytes)
    return invalidArgument("{}: not a safetensors file: {} bytes", source, fileBytes);
  const std::uint64_t size = readLittleEndian64(lengthField);
  if (size > maxHeaderBytes)
    return invalidArgument("{}: header of {} bytes; at most {} are allowed (is this a safetensors "
                           "file?)",
                           source, size, maxHeaderBytes);
  if (size > fileBytes - lengthBytes)
    return invalidArgument("{}: truncated: the header has {} bytes, the file holds {} after its "
                           "length",
                           source, size, fileBytes - lengthBytes);
  return size;
}

} // namespace

std::int64_t HostTensor::numElements() const {
  // The zero first: the other dimensions of an empty tensor may multiply beyond 64 bits.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  std::int64_t count = 1;
  for (std::int64_t dimension : shape)
    count *= dimension;
  return count;
}

const HostTensor *TensorFile::find(std::string_view name) const {
  for (const HostTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

Result<TensorFile> parseSafetensors(std::string_view bytes, const std::string &source) {
  Result<std::uint64_t> size = headerSize(bytes.substr(0, lengthBytes), bytes.size(), source);
  if (!size)
    return size.status();
  const std::string_view data = bytes.substr(lengthBytes + *size);
  Result<Header> header = parseHeader(bytes.substr(lengthBytes, *size), data.size(), source);
  if (!header)
    return header.status();
  TensorFile file;
  file.metadata = std::move(header->metadata);
  for (Entry &entry : header->entries) {
    const auto *begin = reinterpret_cast<const std::byte *>(data.data());
    entry.tensor.data.assign(begin + entry.begin, begin + entry.end);
    file.tensors.push_back(std::move(entry.tensor));
  }
  return file;
}

Result<TensorFile> readSafetensors(const std::string &path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream)
    return environmentError("cannot open '{}': {}", path, std::strerror(errno));
  const std::streamoff end = stream.tellg();
  // A directory opens, but has no usable length.
  if (end < 0 || end == std::numeric_limits<std::streamoff>::max())
    return environmentError("cannot read '{}': not a regular file", path);
  const std::uint64_t fileBytes = std::uint64_t(end);
  stream.seekg(0);
  std::string lengthField(lengthBytes, '\0');
  stream.read(lengthField.data(), std::streamsize(std::min<std::uint64_t>(lengthBytes, fileBytes)));
  Result<std::uint64_t> size = headerSize(lengthField, fileBytes, path);
  if (!size)
    return size.status();
  std::string text(*size, '\0');
  stream.read(text.data(), std::streamsize(text.size()));
  if (!stream)
    return environmentError("cannot read '{}': it became shorter while it was read", path);
  Result<Header> header = parseHeader(text, fileBytes - lengthBytes - *size, path);
  if (!header)
    return header.status();
  TensorFile file;
  file.metadata = std::move(header->metadata);
  for (Entry &entry : header->entries) {
    try {
      entry.tensor.data.resize(entry.end - entry.begin);
    } catch (const std::exception &) {
      return makeError(StatusCode::OutOfMemory, "{}: tensor '{}' needs {} bytes of host memory",
                       path, entry.tensor.name, entry.end - entry.begin);
    }
    stream.read(reinterpret_cast<char *>(entry.tensor.data.data()),
                std::streamsize(entry.tensor.data.size()));
    if (!stream)
      return environmentError("cannot read '{}': it became shorter while it was read", path);
    file.tensors.push_back(std::move(entry.tensor));
  }
  return file;
}

Result<std::string> serializeSafetensors(const TensorFile &file) {
  Json header = Json::object();
  if (!file.metadata.empty())
    header["__metadata__"] = file.metadata;
  std::uint64_t offset = 0;
  for (const HostTensor &tensor : file.tensors) {
    if (tensor.name.empty() || tensor.name == "__metadata__" || header.contains(tensor.name))
      return invalidArgument("tensor name '{}' is empty, reserved or used twice", tensor.name);
    for (std::int64_t dimension : tensor.shape)
      if (dimension < 0)
        return invalidArgument("tensor '{}' has a dimension of {}", tensor.name, dimension);
    std::optional<std::int64_t> bytes = tensorBytes(tensor.shape, tensor.dtype);
    if (!bytes || byteSize(tensor.dtype) == 0 || std::uint64_t(*bytes) != tensor.data.size())
      return invalidArgument("tensor '{}' holds {} bytes, which its shape and dtype do not give",
                             tensor.name, tensor.data.size());
    header[tensor.name] = {{"dtype", safetensorsName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const std::exception &error) {
    return invalidArgument("cannot write the header as JSON: {}", error.what());
  }
  // Padding keeps the data 8-byte aligned in the file, as the format's own writer does.
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string bytes;
  bytes.reserve(lengthBytes + text.size() + offset);
  for (int i = 0; i < 8; ++i)
    bytes += char(std::uint64_t(text.size()) >> (8 * i) & 0xff);
  bytes += text;
  for (const HostTensor &tensor : file.tensors)
    bytes.append(reinterpret_cast<const char *>(tensor.data.data()), tensor.data.size());
  return bytes;
}

Status writeSafetensors(const TensorFile &file, const std::string &path) {
  Result<std::string> bytes = serializeSafetensors(file);
  if (!bytes)
    return bytes.status();
  return writeFileAtomically(path, *bytes);
}

} // namespace attnc::rt
