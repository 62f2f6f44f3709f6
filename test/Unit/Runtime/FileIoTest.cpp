// Writing files: complete or not at all, and never over a device, a pipe or a link.
#include "attnc/Runtime/FileIo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace attnc::rt;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class FileIo : public testing::Test {
protected:
  FileIo() {
    std::string name = testing::TempDir() + "attnc-file-io-XXXXXX";
    directory = ::mkdtemp(name.data());
  }
  ~FileIo() override { fs::remove_all(directory); }

  std::string at(const std::string &name) const { return (directory / name).string(); }
  std::size_t entries() const {
    return std::size_t(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }
  static std::string textOf(const std::string &path) {
    Result<std::string> text = readFile(path);
    return text.ok() ? *text : text.status().message();
  }
  static void expectRefused(const std::string &path, const char *reason) {
    const Status status = writeFileAtomically(path, "text");
    EXPECT_EQ(status.code(), StatusCode::Environment);
    EXPECT_THAT(status.message(), HasSubstr("cannot write '" + path + "'"));
    EXPECT_THAT(status.message(), HasSubstr(reason));
  }

  fs::path directory;
};

/// No more than `bytes` can be written to a file while this lives, as on a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) : handler(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit limit = {bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  void (*handler)(int);
  struct rlimit before = {};
};

} // namespace

TEST_F(FileIo, ReplacesAFileAndKeepsItsMode) {
  ASSERT_TRUE(writeFileAtomically(at("f"), "one").ok());
  EXPECT_EQ(fs::status(at("f")).permissions(), fs::perms(0644));
  fs::permissions(at("f"), fs::perms(0640));
  ASSERT_TRUE(writeFileAtomically(at("f"), "two").ok());
  EXPECT_EQ(textOf(at("f")), "two");
  EXPECT_EQ(fs::status(at("f")).permissions(), fs::perms(0640));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileIo, ALinkStaysALink) {
  ASSERT_TRUE(writeFileAtomically(at("f"), "one").ok());
  fs::create_symlink("f", at("link"));
  ASSERT_TRUE(writeFileAtomically(at("link"), "two").ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(textOf(at("f")), "two");
  fs::create_symlink("nowhere/f", at("dangling"));
  expectRefused(at("dangling"), "it is a link, and what it names: No such file");
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
}

TEST_F(FileIo, DevicesAreWrittenTo) {
  EXPECT_TRUE(writeFileAtomically("/dev/null", "text").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  expectRefused("/dev/full", "No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(FileIo, APipeIsWrittenTo) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] { std::getline(std::ifstream(at("pipe")), text); });
  EXPECT_TRUE(writeFileAtomically(at("pipe"), "text").ok());
  reader.join();
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

// /dev/stdout is a link to what the shell put there; replacing the link or the file is wrong.
TEST_F(FileIo, OwnDescriptorsAreWrittenTo) {
  const int fd = ::open(at("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(fd, "before ", 7), 7);
  EXPECT_TRUE(writeFileAtomically("/dev/fd/" + std::to_string(fd), "text ").ok());
  EXPECT_TRUE(writeFileAtomically("/proc/self/fd/" + std::to_string(fd), "more").ok());
  ::close(fd);
  EXPECT_EQ(textOf(at("f")), "before text more");
  EXPECT_EQ(entries(), 1u);
  expectRefused("/dev/fd/987654", "Bad file descriptor");
}

TEST_F(FileIo, AFullDiskLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(writeFileAtomically(at("f"), "one").ok());
  {
    FileSizeLimit limit(100);
    const Status status = writeFileAtomically(at("f"), std::string(200, 'x'));
    EXPECT_EQ(status.code(), StatusCode::Environment);
    EXPECT_THAT(status.message(), HasSubstr("File too large"));
  }
  EXPECT_EQ(textOf(at("f")), "one");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileIo, PathsThatCannotBeWritten) {
  expectRefused(at("missing/f"), "No such file or directory");
  expectRefused(directory.string(), "Is a directory");
  ASSERT_TRUE(writeFileAtomically(at("f"), "one").ok());
  expectRefused(at("f/g"), "Not a directory");
  expectRefused(at(std::string(300, 'n')), "File name too long");
  EXPECT_EQ(entries(), 1u);
}
