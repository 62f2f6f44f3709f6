// Line-by-line reading of assembler logs. The formats are those of ptxas; nvJitLink and the driver
// pass the same lines on with a different beginning.
#include "attnc/Runtime/AssemblerLog.h"

#include <algorithm>
#include <cctype>

namespace attnc::rt {
namespace {

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() &&
           (std::isspace(static_cast<unsigned char>(line.back())) || line.back() == '\0'))
      line.remove_suffix(1);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())))
      line.remove_prefix(1);
    lines.push_back(line);
  }
  return lines;
}

bool contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

/// The integer that ends right before \p unit ("12 bytes smem" and " bytes smem"), or -1.
std::int64_t numberBefore(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos || end == 0)
    return -1;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])))
    --begin;
  if (begin == end || end - begin > 15)
    return -1;
  std::int64_t number = 0;
  for (std::size_t i = begin; i < end; ++i)
    number = number * 10 + (line[i] - '0');
  return number;
}

/// The text between the first pair of single quotes.
std::string quoted(std::string_view line) {
  const std::size_t begin = line.find('\'');
  if (begin == std::string_view::npos)
    return {};
  const std::size_t end = line.find('\'', begin + 1);
  if (end == std::string_view::npos)
    return {};
  return std::string(line.substr(begin + 1, end - begin - 1));
}

} // namespace

std::vector<KernelResources> parseResources(std::string_view log) {
  std::vector<KernelResources> kernels;
  for (std::string_view line : linesOf(log)) {
    if (contains(line, "Compiling entry function")) {
      KernelResources kernel;
      kernel.entry = quoted(line);
      kernels.push_back(std::move(kernel));
      continue;
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    // The first statement counts: nvJitLink repeats the figures in another wording at the end, and
    // device functions report theirs after the kernel's.
    if (kernel.stackBytes < 0 && contains(line, "bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, " bytes stack frame");
      kernel.spillStoreBytes = numberBefore(line, " bytes spill stores");
      kernel.spillLoadBytes = numberBefore(line, " bytes spill loads");
    }
    if (kernel.registers < 0 && contains(line, "Used ") && contains(line, " registers")) {
      kernel.registers = int(numberBefore(line, " registers"));
      kernel.barriers = int(std::max<std::int64_t>(0, numberBefore(line, " barriers")));
      kernel.sharedBytes = std::max<std::int64_t>(0, numberBefore(line, " bytes smem"));
    }
  }
  return kernels;
}

std::vector<std::string> parseWarnings(std::string_view log) {
  std::vector<std::string> warnings;
  for (std::string_view line : linesOf(log)) {
    // C75xx are advice that the generated code was serialised or a register limit ignored; they
    // come as "info", though each costs much of the kernel's speed.
    const bool advisory = contains(line, "(C75") || contains(line, "Potential Performance Loss");
    if (!advisory && !contains(line, "warning") && !contains(line, "Warning"))
      continue;
    if (std::find(warnings.begin(), warnings.end(), line) == warnings.end())
      warnings.emplace_back(line);
  }
  for (const KernelResources &kernel : parseResources(log))
    if (kernel.spillStoreBytes > 0 || kernel.spillLoadBytes > 0)
      warnings.push_back("kernel " + kernel.entry +
                         " spills: " + std::to_string(kernel.spillStoreBytes) + " bytes stored, " +
                         std::to_string(kernel.spillLoadBytes) + " bytes loaded with " +
                         std::to_string(kernel.registers) + " registers");
  return warnings;
}

std::string firstErrorLine(std::string_view log) {
  const std::vector<std::string_view> lines = linesOf(log);
  for (std::string_view line : lines) {
    // ptxas ends every rejection with this, which says nothing.
    if (contains(line, "aborted due to errors"))
      continue;
    if (contains(line, "error") || contains(line, "fatal") || contains(line, "ERROR"))
      return std::string(line);
  }
  for (std::string_view line : lines)
    if (!line.empty())
      return std::string(line);
  return "(no log)";
}

} // namespace attnc::rt
