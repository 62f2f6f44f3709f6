// Safetensors files: round trip of every dtype, and errors for malformed ones.
#include "attnc/Runtime/Safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attnc::rt;
using ::testing::HasSubstr;

namespace {

std::string fileWith(const std::string &header, const std::string &data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(std::uint64_t(header.size()) >> (8 * i) & 0xff);
  return bytes + header + data;
}

Status statusOf(const std::string &header, const std::string &data = "") {
  return parseSafetensors(fileWith(header, data), "test").status();
}

HostTensor tensor(const std::string &name, DataType dtype, std::vector<std::int64_t> shape) {
  HostTensor result{name, dtype, std::move(shape), {}};
  for (std::int64_t i = 0; i < result.numElements() * byteSize(dtype); ++i)
    result.data.push_back(std::byte(i * 7 + int(dtype)));
  return result;
}

TEST(Safetensors, RoundTripOfEveryDtype) {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"seed", "7"}};
  int index = 0;
  for (DataType dtype :
       {DataType::BF16, DataType::F16, DataType::F32, DataType::F64, DataType::I32, DataType::I64,
        DataType::U8, DataType::Bool, DataType::F8E4M3, DataType::F8E5M2})
    file.tensors.push_back(tensor(dataTypeName(dtype), dtype, {2, 3, ++index}));
  file.tensors.push_back(tensor("scalar", DataType::F32, {}));
  file.tensors.push_back(tensor("empty", DataType::BF16, {4, 0, 128}));
  Result<std::string> bytes = serializeSafetensors(file);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  Result<TensorFile> read = parseSafetensors(*bytes, "memory");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->metadata, file.metadata);
  ASSERT_EQ(read->tensors.size(), file.tensors.size());
  for (const HostTensor &expected : file.tensors) {
    const HostTensor *found = read->find(expected.name);
    ASSERT_NE(found, nullptr) << expected.name;
    EXPECT_EQ(found->dtype, expected.dtype);
    EXPECT_EQ(found->shape, expected.shape);
    EXPECT_EQ(found->data, expected.data);
  }
  EXPECT_EQ(read->find("nothing"), nullptr);
}

TEST(Safetensors, FileRoundTripAndFileErrors) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("attnc-safetensors-test-" + std::to_string(::getpid())))
                               .string();
  TensorFile file;
  file.tensors = {tensor("q", DataType::BF16, {1, 2, 8}), tensor("lse", DataType::F32, {3})};
  ASSERT_TRUE(writeSafetensors(file, path).ok());
  Result<TensorFile> read = readSafetensors(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->find("q")->data, file.tensors[0].data);
  EXPECT_EQ(read->find("lse")->data, file.tensors[1].data);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(readSafetensors(path).status().code(), StatusCode::InvalidArgument);
  std::filesystem::resize_file(path, 3);
  EXPECT_THAT(readSafetensors(path).status().message(), HasSubstr("3 bytes"));
  std::filesystem::remove(path);
  EXPECT_EQ(readSafetensors(path).status().code(), StatusCode::Environment);
  EXPECT_EQ(readSafetensors("/tmp").status().code(), StatusCode::Environment);
  EXPECT_EQ(writeSafetensors(file, "/no/such/directory/x").code(), StatusCode::Environment);
}

TEST(Safetensors, ReadsAFileMadeByHand) {
  Result<TensorFile> read =
      parseSafetensors(fileWith(R"({"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}   )",
                                std::string("\0\0\x80?\0\0\0@", 8)),
                       "hand");
  ASSERT_TRUE(read.ok()) << read.status().message();
  float values[2];
  std::memcpy(values, read->find("x")->data.data(), 8);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], 2.0f);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  TensorFile file;
  file.tensors = {tensor("q", DataType::BF16, {3, 5})};
  const std::string bytes = *serializeSafetensors(file);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parseSafetensors(bytes.substr(0, size), "cut").ok()) << size;
}

TEST(Safetensors, MalformedHeaders) {
  EXPECT_THAT(parseSafetensors(std::string(8, '\xff'), "big").status().message(),
              HasSubstr("at most 100000000"));
  EXPECT_THAT(statusOf("[]").message(), HasSubstr("must be an object"));
  EXPECT_THAT(statusOf("{").message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(statusOf(R"({"a":1})").message(), HasSubstr("expected an object"));
  EXPECT_THAT(statusOf(R"({"__metadata__":{"a":1}})").message(), HasSubstr("strings only"));
  EXPECT_THAT(statusOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                       "1234")
                  .message(),
              HasSubstr("appears twice"));
  const Status dtype = statusOf(R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}})", "1234");
  EXPECT_EQ(dtype.code(), StatusCode::Unsupported);
  EXPECT_THAT(dtype.message(), HasSubstr("F8_E5M2"));
}

TEST(Safetensors, ShapesAndOffsetsMustAgree) {
  const auto with = [](const std::string &shape, const std::string &offsets) {
    return statusOf(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets +
                        "}}",
                    "12345678")
        .message();
  };
  EXPECT_THAT(with("[1]", "[0,8]"), HasSubstr("needs 4 bytes, data_offsets give 8"));
  EXPECT_THAT(with("[3]", "[0,12]"), HasSubstr("do not lie in the 8 bytes"));
  EXPECT_THAT(with("[2]", "[8,0]"), HasSubstr("do not lie"));
  EXPECT_THAT(with("[1]", "[0,4]"), HasSubstr("4 bytes after the last tensor"));
  EXPECT_THAT(with("[1]", "[4,8]"), HasSubstr("holes"));
  EXPECT_THAT(with("[-1]", "[0,8]"), HasSubstr("integers from 0"));
  EXPECT_THAT(with("[1.5]", "[0,8]"), HasSubstr("integers from 0"));
  EXPECT_THAT(with("[9223372036854775807,9223372036854775807]", "[0,8]"),
              HasSubstr("more than 2^63"));
  EXPECT_THAT(with("[18446744073709551615]", "[0,8]"), HasSubstr("integers from 0"));
  EXPECT_THAT(with("[1,1,1,1,1,1,1,1,2]", "[0,8]"), HasSubstr("at most 8"));
  EXPECT_THAT(with("[2]", "[0]"), HasSubstr("two integers"));
  EXPECT_THAT(with("[2]", "[0,-8]"), HasSubstr("two integers"));
  EXPECT_THAT(with("[2]", "{}"), HasSubstr("expected an array"));
}

TEST(Safetensors, OverlapIsRefused) {
  EXPECT_THAT(statusOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                       "123456")
                  .message(),
              HasSubstr("overlap"));
}

TEST(Safetensors, AHugeEmptyShapeHasNoElements) {
  Result<TensorFile> read = parseSafetensors(
      fileWith(R"({"a":{"dtype":"U8","shape":[4611686018427387904,4611686018427387904,0],)"
               R"("data_offsets":[0,0]}})",
               ""),
      "empty");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->tensors[0].numElements(), 0);
}

TEST(Safetensors, WriterRefusesInconsistentTensors) {
  TensorFile file;
  file.tensors = {tensor("a", DataType::F32, {2})};
  file.tensors[0].data.pop_back();
  EXPECT_FALSE(serializeSafetensors(file).ok());
  file.tensors = {tensor("a", DataType::F32, {2}), tensor("a", DataType::F32, {2})};
  EXPECT_FALSE(serializeSafetensors(file).ok());
  file.tensors = {tensor("", DataType::F32, {2})};
  EXPECT_FALSE(serializeSafetensors(file).ok());
}

} // namespace
