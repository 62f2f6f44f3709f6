// Whole-file reading and atomic writing, with errors that name the path. Nothing about formats.
#ifndef ATTNC_RUNTIME_FILEIO_H
#define ATTNC_RUNTIME_FILEIO_H

#include "attnc/Runtime/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace attnc::rt {

/// Reads a regular file of at most \p maxBytes. \returns Environment if it is missing, unreadable,
/// a directory or longer.
Result<std::string> readFile(const std::string &path, std::uint64_t maxBytes = std::uint64_t(1)
                                                                               << 40);

/// Writes \p bytes to a temporary neighbour of \p path and renames it: readers see the old file or
/// the complete new one. A link stays one. What is no file (a device, a pipe, /dev/stdout) is
/// written to instead. \returns Environment with the path and the reason; nothing is left behind on
/// failure.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

/// Writes \p bytes to a new, uniquely named file `PREFIX-XXXXXX` + \p suffix, mode 0600, in
/// \p directory (empty: $TMPDIR, else /tmp). \returns its path.
Result<std::string> writeTemporaryFile(std::string_view bytes, const std::string &prefix,
                                       const std::string &suffix,
                                       const std::string &directory = {});

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_FILEIO_H
