// Fuzzes the safetensors reader. Inputs are taken twice: as a file, and as a header behind a
// correct length, so that mutations get past the length field.
#include "FuzzTarget.h"

#include "attnc/Runtime/Safetensors.h"

using namespace attnc::rt;

namespace {

std::string withLength(std::string_view header) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(std::uint64_t(header.size()) >> (8 * i) & 0xff);
  return bytes + std::string(header) + std::string(64, 'd');
}

void read(std::string_view bytes) {
  Result<TensorFile> file = parseSafetensors(bytes, "fuzz");
  if (!file) {
    FUZZ_CHECK(!file.status().message().empty());
    return;
  }
  for (const HostTensor &tensor : file->tensors)
    FUZZ_CHECK(std::uint64_t(tensor.numElements()) * std::uint64_t(byteSize(tensor.dtype)) ==
               tensor.data.size());
  // An empty name is legal to read and not to write; everything else goes round.
  if (file->find(""))
    return;
  Result<std::string> written = serializeSafetensors(*file);
  FUZZ_CHECK(written.ok());
  Result<TensorFile> again = parseSafetensors(*written, "again");
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->tensors.size() == file->tensors.size());
  for (const HostTensor &tensor : file->tensors) {
    const HostTensor *found = again->find(tensor.name);
    FUZZ_CHECK(found && found->data == tensor.data && found->shape == tensor.shape);
  }
}

constexpr const char *header =
    R"({"__metadata__":{"format":"pt"},"q":{"dtype":"BF16","shape":[2,4],"data_offsets":[0,16]},
"k":{"dtype":"F8_E4M3","shape":[16],"data_offsets":[16,32]},"e":{"dtype":"I64","shape":[0,3],"data_offsets":[32,32]},
"v":{"dtype":"F32","shape":[],"data_offsets":[32,36]},"w":{"dtype":"U8","shape":[1,28,1],"data_offsets":[36,64]}})";

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  read(bytes);
  read(withLength(bytes));
  return 0;
}

std::vector<std::string> fuzzSeeds() { return {header, withLength(header)}; }

std::vector<std::string> fuzzTokens() {
  return {"{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "null",
          "\"\"",
          "\"x\":{\"dtype\":\"F64\",\"shape\":[0],",
          "\"data_offsets\":[64,64]}",
          "\"__metadata__\"",
          "\"F16\"",
          "\"BOOL\"",
          "[0,0]",
          "\xff",
          std::string(40, '['),
          "-",
          "1e2"};
}
