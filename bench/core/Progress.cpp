// Drawing the bar and the heartbeat.
#include "Progress.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace attnc::bench {

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress(std::size_t total, bool terminal, std::function<void(const std::string &)> out,
                   Clock clock, double heartbeatSeconds)
    : total(total), terminal(terminal), out(std::move(out)), clock(std::move(clock)),
      heartbeat(heartbeatSeconds), start(this->clock()), last(start) {}

std::string Progress::duration(double seconds) {
  const auto s = static_cast<long long>(std::max(0.0, seconds) + 0.5);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

double Progress::remainingSeconds() const {
  if (done == 0 || total == 0)
    return -1;
  return (clock() - start) / double(done) * double(total - std::min(done, total));
}

void Progress::update(std::size_t steps, const std::string &what) {
  done = std::min(steps, total);
  const double now = clock();
  const double share = total ? double(done) / double(total) : 1.0;
  const double left = remainingSeconds();
  const std::string eta = left < 0 ? "?" : duration(left);
  if (terminal) {
    if (drawn && now - last < 0.1 && done < total)
      return;
    constexpr int width = 24;
    const int filled = int(share * width);
    std::string bar(std::size_t(filled), '#');
    bar.resize(width, '.');
    out(fmt::format("\r\x1b[K[{}] {}/{} {:3.0f}% left {} {:.60}", bar, done, total, 100 * share,
                    eta, what));
    drawn = true;
    last = now;
  } else if (now - last >= heartbeat) {
    out(fmt::format("attn-bench: {}/{} ({:.0f}%), {} so far, {} left: {}\n", done, total,
                    100 * share, duration(now - start), eta, what));
    last = now;
  }
}

void Progress::note(const std::string &line) {
  out((terminal && drawn ? "\r\x1b[K" : "") + line + "\n");
  drawn = false;
}

void Progress::finish() {
  if (terminal && drawn)
    out("\r\x1b[K");
  drawn = false;
}

} // namespace attnc::bench
