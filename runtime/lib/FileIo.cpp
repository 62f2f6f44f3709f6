// File reading and atomic writing over POSIX calls.
#include "attnc/Runtime/FileIo.h"

#include "StatusFormat.h"

#include <cctype>
#include <charconv>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::rt {
namespace {

/// Closes a descriptor at the end of a scope.
struct FileDescriptor {
  int fd = -1;
  ~FileDescriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

std::string errorText() { return std::strerror(errno); }

Status writeAll(int fd, std::string_view bytes, const std::string &path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return environmentError("cannot write '{}': {}", path, errorText());
    bytes.remove_prefix(std::size_t(written));
  }
  return {};
}

/// N for a name of this process's descriptor N, such as /dev/stdout; -1 for other paths. Where the
/// descriptor is a file, the name is a link to it, and what the shell put there must stay.
int ownDescriptor(std::string_view path) {
  if (path == "/dev/stdout")
    return STDOUT_FILENO;
  if (path == "/dev/stderr")
    return STDERR_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    int fd = -1;
    const char *end = path.data() + path.size();
    if (path.substr(0, directory.size()) == directory &&
        std::from_chars(path.data() + directory.size(), end, fd).ptr == end)
      return fd;
  }
  return -1;
}

} // namespace

Result<std::string> readFile(const std::string &path, std::uint64_t maxBytes) {
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0)
    return environmentError("cannot open '{}': {}", path, errorText());
  struct stat info = {};
  if (::fstat(file.fd, &info) != 0)
    return environmentError("cannot read '{}': {}", path, errorText());
  if (!S_ISREG(info.st_mode))
    return environmentError("cannot read '{}': not a regular file", path);
  if (std::uint64_t(info.st_size) > maxBytes)
    return environmentError("'{}' has {} bytes; at most {} are read", path, info.st_size, maxBytes);
  std::string bytes(std::size_t(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return environmentError("cannot read '{}': {}", path, errorText());
    if (count == 0)
      return environmentError("'{}' became shorter while it was read", path);
    done += std::size_t(count);
  }
  return bytes;
}

Status writeFileAtomically(const std::string &path, std::string_view bytes) {
  if (const int fd = ownDescriptor(path); fd >= 0)
    return writeAll(fd, bytes, path);
  // A device or a pipe is written to: renaming a file over it would replace it.
  struct stat existing = {};
  const bool exists = ::stat(path.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) {
    FileDescriptor device{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (device.fd < 0)
      return environmentError("cannot write '{}': {}", path, errorText());
    return writeAll(device.fd, bytes, path);
  }
  // A link stays a link: what it names is replaced.
  std::string file = path;
  if (struct stat link = {}; ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                               &std::free);
    if (!resolved)
      return environmentError("cannot write '{}': it is a link, and what it names: {}", path,
                              errorText());
    file = resolved.get();
  }
  std::string temporary = file + ".tmp-XXXXXX";
  FileDescriptor out{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (out.fd < 0)
    return environmentError("cannot write '{}': {}", path, errorText());
  Status status = writeAll(out.fd, bytes, path);
  // mkostemp makes 0600, but an artefact is for others to read. Asking for the umask would race
  // with other threads.
  if (status.ok() && ::fchmod(out.fd, exists ? existing.st_mode & 0777 : 0644) != 0)
    status = environmentError("cannot write '{}': {}", path, errorText());
  if (status.ok() && ::rename(temporary.c_str(), file.c_str()) != 0)
    status = environmentError("cannot write '{}': {}", path, errorText());
  if (!status.ok())
    ::unlink(temporary.c_str());
  return status;
}

Result<std::string> writeTemporaryFile(std::string_view bytes, const std::string &prefix,
                                       const std::string &suffix, const std::string &directory) {
  std::string base = directory;
  if (base.empty()) {
    const char *variable = std::getenv("TMPDIR");
    base = variable && *variable ? variable : "/tmp";
  }
  // A name from a spec must not leave the directory.
  std::string stem;
  for (char c : prefix.substr(0, 100))
    stem +=
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
  std::string path = base + "/" + stem + "-XXXXXX" + suffix;
  FileDescriptor file{::mkostemps(path.data(), int(suffix.size()), O_CLOEXEC)};
  if (file.fd < 0)
    return environmentError("cannot create a file in '{}': {}", base, errorText());
  if (Status status = writeAll(file.fd, bytes, path); !status.ok()) {
    ::unlink(path.c_str());
    return status;
  }
  return path;
}

} // namespace attnc::rt
