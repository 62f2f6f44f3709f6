// Messages and progress.
#include "Messages.h"

#include "attnc/Support/ExitCodes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <cstdlib>

using namespace llvm;

namespace attnc::cli {

/// Set while a progress line is on the terminal, so that a message can clear it.
static bool progressShown = false;

void clearProgressLine() {
  if (progressShown)
    errs() << "\r\033[K";
  progressShown = false;
}

static raw_ostream &startLine() {
  clearProgressLine();
  return errs();
}

void error(const Twine &message) { startLine() << "attnc: error: " << message << "\n"; }
void note(const Twine &message) { startLine() << "attnc: note: " << message << "\n"; }

int report(const rt::Status &status) {
  error(status.message());
  if (!status.log().empty())
    errs() << status.log() << (StringRef(status.log()).ends_with("\n") ? "" : "\n");
  return static_cast<int>(status.code());
}

void printVersion(raw_ostream &stream) {
  stream << "attnc " ATTNC_VERSION ", LLVM " ATTNC_LLVM_VERSION "\n";
}

std::string compilerId() {
  static const std::string id = [] {
    std::string path = sys::fs::getMainExecutable(nullptr, nullptr);
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    std::string text = "attnc " ATTNC_VERSION;
    if (!buffer)
      return text;
    auto hash = BLAKE3::hash<8>(arrayRefFromStringRef((*buffer)->getBuffer()));
    return text + " " + toHex(hash, /*LowerCase=*/true);
  }();
  return id;
}

void preferProjectAssembler(const char *argv0) {
  for (const char *variable : {"ATTNC_CUDA_PATH", "CUDA_HOME", "CUDA_PATH"})
    if (std::getenv(variable))
      return;
  // build/bin/attnc: the project is two directories up from the executable's.
  SmallString<256> path(
      sys::fs::getMainExecutable(argv0, reinterpret_cast<void *>(&preferProjectAssembler)));
  for (int i = 0; i < 3; ++i)
    sys::path::remove_filename(path);
  sys::path::append(path, ".venv", "lib");
  std::error_code failure;
  for (sys::fs::directory_iterator it(path, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (!sys::path::filename(it->path()).starts_with("python3"))
      continue;
    SmallString<256> wheels(it->path());
    sys::path::append(wheels, "site-packages", "nvidia");
    if (sys::fs::is_directory(wheels))
      ::setenv("ATTNC_CUDA_PATH", wheels.c_str(), /*overwrite=*/0);
  }
}

Progress::Progress(unsigned total)
    : total(total), terminal(sys::Process::StandardErrIsDisplayed()),
      lastPrint(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clearProgressLine(); }

void Progress::step(const Twine &what) {
  ++current;
  if (total < 2)
    return;
  if (terminal) {
    constexpr unsigned width = 24;
    unsigned filled = width * (current - 1) / total;
    errs() << "\r\033[K[" << std::string(filled, '#') << std::string(width - filled, '.') << "] "
           << current << "/" << total << " " << what;
    progressShown = true;
    return;
  }
  auto now = std::chrono::steady_clock::now();
  if (now - lastPrint < std::chrono::seconds(10))
    return;
  lastPrint = now;
  errs() << "attnc: " << current << "/" << total << " " << what << "\n";
}

} // namespace attnc::cli
