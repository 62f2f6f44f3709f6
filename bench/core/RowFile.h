// The append-only JSONL of rows: opening for a new run or a resumed one, and appending whole lines.
// Reading for analysis is the Python side's; this reads only what resuming needs.
#ifndef ATTNC_BENCH_ROWFILE_H
#define ATTNC_BENCH_ROWFILE_H

#include "Config.h"

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace attnc::bench {

/// What one run writes into every row.
struct RowHeader {
  std::string runId;
  std::string shard; ///< "i/n" or empty
};

class RowFile {
public:
  /// Opens \p path, taking a lock that keeps a second attn-bench off it.
  ///
  /// Without \p resume a file that has rows is refused: rows are never overwritten, and two runs in
  /// one file only by intent. With it, a last line that was cut short is cut off and its
  /// repetition counts as not done; every complete line must be a row, else nothing is changed.
  /// An empty \p runId takes over that of the file's last row.
  ///
  /// \returns InvalidArgument with file and line, or Environment.
  static Result<std::unique_ptr<RowFile>> open(const std::string &path, bool resume,
                                               std::string runId);
  ~RowFile();
  RowFile(const RowFile &) = delete;
  RowFile &operator=(const RowFile &) = delete;

  /// Appends \p row and flushes it to the system: what is done survives the process.
  Status append(const Json &row);

  /// The run id given, taken over, or empty if there was neither.
  const std::string &runId() const { return run; }
  /// Bytes of a torn last line that resuming cut off.
  std::size_t tornBytes() const { return torn; }
  /// For people: what resuming found.
  std::size_t rowsFound() const { return found; }

  /// Whether the repetition is in the file with a status that a resumed run does not try again
  /// (all but ERROR and TIMEOUT). A refusal (UNSUPPORTED, OOM, ...) of repetition 0 stands for all.
  bool done(const std::string &gpu, const std::string &implementation, const Config &config,
            int rep) const;

private:
  RowFile() = default;
  Status load(const std::string &path, std::string &text);
  static std::string identity(const std::string &gpu, const std::string &implementation,
                              const std::string &configKey, long long rep);

  std::FILE *file = nullptr;
  std::string path;
  std::string run;
  std::size_t torn = 0, found = 0;
  std::set<std::string> finished, refused;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_ROWFILE_H
