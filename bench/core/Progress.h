// Progress on stderr: a bar with an estimate on a terminal, a line every half minute off it.
// Formatting and timing only; the clock is a parameter so that tests bring theirs.
#ifndef ATTNC_BENCH_PROGRESS_H
#define ATTNC_BENCH_PROGRESS_H

#include <functional>
#include <string>

namespace attnc::bench {

/// Seconds from any fixed point.
using Clock = std::function<double()>;
double steadySeconds();

class Progress {
public:
  /// \p total steps of roughly equal cost. \p out receives text, escape codes included when
  /// \p terminal.
  Progress(std::size_t total, bool terminal, std::function<void(const std::string &)> out,
           Clock clock = steadySeconds, double heartbeatSeconds = 30);

  /// \p steps are done now, doing \p what.
  void update(std::size_t steps, const std::string &what);
  /// A line that stays, above the bar.
  void note(const std::string &line);
  /// Clears the bar.
  void finish();

  /// Seconds left by the pace so far; negative before anything is known.
  double remainingSeconds() const;
  /// "1:02:03" or "4:05".
  static std::string duration(double seconds);

private:
  std::size_t total, done = 0;
  bool terminal, drawn = false;
  std::function<void(const std::string &)> out;
  Clock clock;
  double heartbeat, start, last;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_PROGRESS_H
