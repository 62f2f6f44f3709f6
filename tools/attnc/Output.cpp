// Writing artefacts.
#include "Output.h"

#include "Messages.h"

#include "attnc/Runtime/FileIo.h"
#include "attnc/Support/ExitCodes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

using namespace llvm;

namespace attnc::cli {

Output::Output(StringRef argument, StringRef name, bool several, bool binary)
    : argument(argument), name(name), several(several),
      stdoutOnly(argument == "-" || (argument.empty() && !several && !binary)) {}

int Output::prepare() {
  if (stdoutOnly) {
    if (several) {
      error("'-o -' takes one target; name a directory for several: -o out/");
      return kExitBadUsage;
    }
    return kExitOk;
  }
  directory = argument.empty() || StringRef(argument).ends_with("/") ||
              sys::fs::is_directory(argument) || several;
  if (argument.empty())
    argument.push_back('.');
  if (!directory) {
    StringRef parent = sys::path::parent_path(argument);
    if (!parent.empty() && !sys::fs::is_directory(parent)) {
      error("cannot write '" + argument + "': '" + parent + "' is not a directory");
      return kExitBadUsage;
    }
    return kExitOk;
  }
  if (std::error_code failure = sys::fs::create_directories(argument)) {
    error("cannot make the directory '" + argument + "': " + failure.message());
    return kExitEnvironment;
  }
  if (!sys::fs::is_directory(argument)) {
    error("'" + argument + "' is not a directory; several targets need one: -o out/");
    return kExitBadUsage;
  }
  return kExitOk;
}

int Output::write(StringRef target, StringRef extension, StringRef bytes) {
  if (stdoutOnly) {
    outs() << bytes;
    return flushStdout();
  }
  SmallString<256> path(argument);
  if (directory)
    sys::path::append(path, name + "." + target + "." + extension);
  if (int code = writeFile(path, bytes))
    return code;
  note("wrote " + path + " (" + Twine(bytes.size()) + " bytes)");
  return kExitOk;
}

int flushStdout() {
  outs().flush();
  if (!outs().has_error())
    return kExitOk;
  error("cannot write to stdout: " + outs().error().message());
  outs().clear_error();
  return kExitEnvironment;
}

void checkStdoutAtExit() {
  // Both streams first: what is made before is destroyed after the handler ran.
  outs();
  errs();
  std::atexit([] {
    if (int code = flushStdout())
      ::_exit(code);
  });
}

int writeFile(StringRef path, StringRef bytes) {
  rt::Status status =
      rt::writeFileAtomically(path.str(), std::string_view(bytes.data(), bytes.size()));
  return status.ok() ? kExitOk : report(status);
}

} // namespace attnc::cli
