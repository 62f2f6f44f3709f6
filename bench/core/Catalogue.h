// The implementations attn-bench knows: ids as in the analysis, what serves them, and how to get
// what they need. A user's own comes by --impl NAME=path.py:function.
#ifndef ATTNC_BENCH_CATALOGUE_H
#define ATTNC_BENCH_CATALOGUE_H

#include "Config.h"

#include <string>
#include <vector>

namespace attnc::bench {

enum class Backing { Attnc, Cudnn, HandNaive, Hand, Python };

struct CatalogueEntry {
  const char *id;
  const char *regime; ///< "prefill" or "decode"
  Backing backing;
  const char *description;
  /// How to get it where it is missing.
  const char *needs;
};

const std::vector<CatalogueEntry> &catalogue();

/// One --impl: a catalogue id, or a plug-in.
struct Selected {
  std::string id;
  const CatalogueEntry *entry = nullptr; ///< null for a plug-in
  std::string plugin;                    ///< "/absolute/path.py:function"
};

/// \p words as given (each may be a ',' list); empty selects the whole catalogue.
/// \returns InvalidArgument with the nearest known ids, or for a plug-in without its file.
Result<std::vector<Selected>> selectImplementations(const std::vector<std::string> &words);

} // namespace attnc::bench

#endif // ATTNC_BENCH_CATALOGUE_H
