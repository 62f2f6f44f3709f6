// Crash handling. A handler may only use what the kernel gives it: the reproducer is ready in memory
// before passes run, and the handler writes it with plain system calls.
#include "CrashReport.h"

#include "attnc/Support/ExitCodes.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace attnc::cli {

static std::string reproducer;
static char reproducerPath[256];

static void writeAll(int file, const char *text, size_t size) {
  while (size > 0) {
    ssize_t written = ::write(file, text, size);
    if (written <= 0)
      return;
    text += written;
    size -= static_cast<size_t>(written);
  }
}

static void say(const char *text) { writeAll(STDERR_FILENO, text, std::strlen(text)); }

static void keepReproducerAndExplain(const char *what) {
  say("attnc: internal error: ");
  say(what);
  say("\n");
  if (!reproducer.empty()) {
    int file = ::open(reproducerPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
      writeAll(file, reproducer.data(), reproducer.size());
      ::close(file);
      say("attnc: reproducer: ");
      say(reproducerPath);
      say("  (attn-opt --run-reproducer takes it)\n");
    }
  }
  say("attnc: this is a bug of attnc; please report it with the spec and the reproducer\n");
}

static void onSignal(int signal) {
  const char *name = signal == SIGSEGV   ? "segmentation fault"
                     : signal == SIGABRT ? "aborted"
                     : signal == SIGBUS  ? "bus error"
                     : signal == SIGFPE  ? "arithmetic fault"
                                         : "illegal instruction";
  keepReproducerAndExplain(name);
  ::_exit(kExitInternal);
}

static void onFatalError(void *, const char *reason, bool) {
  keepReproducerAndExplain(reason);
  ::_exit(kExitInternal);
}

/// An exception that nobody caught. Memory is the only thing that may run out here.
[[noreturn]] static void onTerminate() {
  try {
    if (std::current_exception())
      std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc &) {
    say("attnc: error: out of memory; use a smaller problem\n");
    ::_exit(kExitOutOfMemory);
  } catch (const std::exception &exception) {
    keepReproducerAndExplain(exception.what());
    ::_exit(kExitInternal);
  } catch (...) {
  }
  keepReproducerAndExplain("an exception nobody caught");
  ::_exit(kExitInternal);
}

void installCrashReport() {
  std::set_terminate(onTerminate);
  const char *directory = std::getenv("TMPDIR");
  std::snprintf(reproducerPath, sizeof reproducerPath, "%s/attnc-crash-%d.mlir",
                directory && *directory ? directory : "/tmp", static_cast<int>(::getpid()));
  llvm::install_fatal_error_handler(onFatalError);
  // A stack overflow needs a stack of its own to be reported on.
  static char alternate[64 * 1024];
  stack_t stack = {};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof alternate;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    ::sigaction(signal, &action, nullptr);
  // Past `ulimit -f` a write fails, is reported, and what it left is removed.
  ::signal(SIGXFSZ, SIG_IGN);
}

void setReproducer(std::string text) { reproducer = std::move(text); }

int reportInternalError(const std::string &what) {
  keepReproducerAndExplain(what.c_str());
  return kExitInternal;
}

} // namespace attnc::cli
