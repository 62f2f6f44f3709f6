// A small seeded generator whose numbers are the same on every machine.
#ifndef ATTNC_TOOLS_RANDOM_H
#define ATTNC_TOOLS_RANDOM_H

#include <cmath>
#include <cstdint>

namespace attnc::cli {

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}

  uint64_t bits() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// In [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }
  /// Standard normal (Box-Muller).
  double normal() {
    double u = 1.0 - uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * uniform());
  }

private:
  uint64_t state;
};

} // namespace attnc::cli

#endif // ATTNC_TOOLS_RANDOM_H
