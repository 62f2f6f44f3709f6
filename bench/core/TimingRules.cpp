// Copies and launches.
#include "TimingRules.h"

#include <algorithm>
#include <cmath>

namespace attnc::bench {

int copiesNeeded(const Config &config, std::int64_t l2Bytes) {
  if (config.launch != "graph" || config.cache != "cold")
    return 1;
  const std::int64_t bytes = std::max<std::int64_t>(1, config.tensorBytes());
  return int(std::clamp<std::int64_t>((3 * l2Bytes + bytes - 1) / bytes, 2, 128));
}

bool flushesBefore(const Config &config, int copies, std::int64_t l2Bytes) {
  if (config.cache != "cold")
    return false;
  return config.launch != "graph" || copies * config.tensorBytes() < 2 * l2Bytes;
}

int launchesInGraph(double launchUs, int copies, double targetUs) {
  const double wanted = std::ceil(targetUs / std::max(launchUs, 0.5));
  const int rounds = int(std::ceil(std::min(wanted, 256.0) / copies));
  return copies * std::max(rounds, 1);
}

} // namespace attnc::bench
