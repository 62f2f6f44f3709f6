// PTX to cubin: nvJitLink, else the ptxas executable, else the driver's own compiler. The first two
// need no GPU and no driver. CUDA C++ goes through Nvrtc.h.
//
// "Else" means "if the one before is not on this machine". PTX that one assembler rejects is never
// tried on the next: a rejection is an error to be shown.
#ifndef ATTNC_RUNTIME_ASSEMBLE_H
#define ATTNC_RUNTIME_ASSEMBLE_H

#include "attnc/Runtime/AssemblerLog.h"
#include "attnc/Runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

struct CudaLocations;

/// Nvrtc only marks results of Nvrtc.h: it takes no PTX.
enum class Assembler : std::uint8_t { NvJitLink, Ptxas, Driver, Nvrtc };

/// "nvjitlink", "ptxas", "driver" or "nvrtc".
const char *assemblerName(Assembler assembler);

/// One assembler found on this machine.
struct AssemblerInfo {
  Assembler kind = Assembler::NvJitLink;
  /// Library or executable; empty only if the system linker found it and its path is not known.
  std::string path;
  /// "13.0"; for the driver the CUDA version it supports.
  std::string version;
};

struct AssembleOptions {
  /// Name for messages and for the kept PTX file: the spec's name, say.
  std::string name = "kernel";
  int optLevel = 3;
  bool lineInfo = false;
  /// Limit for each thread, 0 for none.
  int maxRegisters = 0;
  /// Further ptxas options, one each ("-O1", "--warn-on-spills").
  std::vector<std::string> extra;
  /// Use this assembler or fail; unset: the first one there is. The environment variable
  /// ATTNC_ASSEMBLER (nvjitlink, ptxas, driver) does the same where this is unset.
  std::optional<Assembler> use;
  /// Where rejected PTX is kept; empty: $TMPDIR, else /tmp.
  std::string tempDirectory;
  /// Off for fuzzing and tests: then a rejection keeps no file.
  bool keepRejectedPtx = true;
};

struct AssembleResult {
  std::string cubin;
  /// Everything the assembler said.
  std::string log;
  /// Resources of each entry function, from the log.
  std::vector<KernelResources> kernels;
  /// Warning lines of the log (performance warnings C75xx included) and one line for each kernel
  /// that spills.
  std::vector<std::string> warnings;
  AssemblerInfo assembler;
  double milliseconds = 0;
};

/// The assemblers of this machine, in the order `assemble` tries them. The driver is listed only if
/// it has a device, since its compiler needs one.
std::vector<AssemblerInfo> availableAssemblers();

/// Assembles \p ptx for \p target ("sm_90a").
///
/// \returns CompileFailed when the assembler rejects the PTX: the message has the tool, its first
///          error line, the target, the name and where the PTX was kept; `log()` is the full log.
///          InvalidArgument for a malformed target. Environment when there is no assembler (the
///          message lists where it looked) or when a forced one is missing.
Result<AssembleResult> assemble(std::string_view ptx, std::string_view target,
                                const AssembleOptions &options = {});

/// True for "sm_" followed by digits and an optional 'a' or 'f'.
bool isTargetName(std::string_view target);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_ASSEMBLE_H
