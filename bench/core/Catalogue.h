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

/// One --impl: a catalogue id, one of attnc's with parts of its configuration forced
/// ("P5-attnc+block_n=64+stages=2"), or a plug-in ("mine=path.py:function").
struct Selected {
  std::string id;
  const CatalogueEntry *entry = nullptr; ///< null for a plug-in
  std::string plugin = {};               ///< "/absolute/path.py:function"
  std::string config = {}; ///< of attnc: fields to force, "block_n=64,stages=2"; empty: its choice
};

/// \p words as given (each may be a ',' list); empty selects the whole catalogue.
/// \returns InvalidArgument with the nearest known ids, or for a plug-in without its file.
Result<std::vector<Selected>> selectImplementations(const std::vector<std::string> &words);

} // namespace attnc::bench

#endif // ATTNC_BENCH_CATALOGUE_H
