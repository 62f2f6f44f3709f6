// Edit-distance suggestions for error messages.
#include "attnc/Support/NearestName.h"

#include <algorithm>

using namespace llvm;

StringRef attnc::nearestName(StringRef name, ArrayRef<StringRef> candidates) {
  // A third of the name may be wrong, but at least one letter and at most four: beyond that a
  // suggestion is more often noise than help.
  size_t allowed = std::clamp<size_t>((name.size() + 2) / 3, 1, 4);
  size_t best = allowed + 1;
  StringRef nearest;
  for (StringRef candidate : candidates) {
    size_t distance = name.edit_distance_insensitive(candidate);
    // A name that shares nothing with what was typed is no suggestion.
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string attnc::didYouMean(StringRef name, ArrayRef<StringRef> candidates) {
  StringRef nearest = nearestName(name, candidates);
  return nearest.empty() ? std::string() : ("; did you mean '" + nearest + "'?").str();
}
