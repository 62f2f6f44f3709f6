// The seam of the bench: what an implementation of attention must offer to be measured. The runner
// knows only this, so that its rules (interleaving, stopping, statuses) are tested without a GPU.
#ifndef ATTNC_BENCH_IMPLEMENTATION_H
#define ATTNC_BENCH_IMPLEMENTATION_H

#include "Config.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attnc::bench {

/// Why there is no time: a status of the row schema other than OK, and the reason in words.
struct Refusal {
  std::string status; ///< UNSUPPORTED, OOM_PREDICTED, OOM, ERROR, INCORRECT, TIMEOUT
  std::string reason;
};

/// Maps a runtime failure: Unsupported and Environment (a library that is not there) are
/// UNSUPPORTED, OutOfMemory is OOM, the rest ERROR.
Refusal refusalOf(const Status &status);

/// Something that can be timed again and again: one implementation on one configuration.
class Timed {
public:
  virtual ~Timed() = default;
  /// At least one and at most \p count samples in microseconds. A sample is one launch, or one
  /// graph replay divided by its launches. NaN where the timer gave no number.
  virtual std::variant<std::vector<double>, Refusal> sample(int count) = 0;
};

/// An implementation ready on a configuration, its result already checked. The JSON parts go into
/// every row as they are; null where there is nothing to say.
struct Prepared {
  std::unique_ptr<Timed> timed;
  /// Plan, compile, first call.
  double setupUs = 0;
  Json correctness = nullptr, dispatch = nullptr, versions = Json::object();
  std::optional<double> measuredMib;
  std::optional<std::string> specHash;
  std::optional<bool> kvExpanded;
};

class Implementation {
public:
  virtual ~Implementation() = default;
  virtual const std::string &id() const = 0;
  /// What --impl takes to get it again.
  virtual std::string argument() const { return id(); }
  /// "prefill", "decode", or "" for both. Cells of another regime get no row at all.
  virtual std::string regime() const = 0;
  /// Bytes of device memory it will take beyond what is shared by the cell; 0: little.
  virtual double predictBytes(const Config &) const { return 0; }
  /// Everything up to the first checked result. A wrong result is a Refusal INCORRECT whose
  /// correctness is left in \p onIncorrect.
  virtual std::variant<Prepared, Refusal> prepare(const Config &config, Json &onIncorrect) = 0;
};

/// The machine a suite runs on; one per run.
class Machine {
public:
  virtual ~Machine() = default;
  /// The row's `gpu` object.
  virtual Json gpu() const = 0;
  /// Free device memory in bytes, or 0 if it is not known.
  virtual double freeBytes() const { return 0; }
  /// Makes what all implementations of a cell share (tensors, reference). On failure every
  /// implementation of the cell that needs it is refused alike.
  virtual std::optional<Refusal> beginCell(const Config &) { return std::nullopt; }
  virtual void endCell() {}
  /// Why nothing can be measured any more (a kernel's fault took the context down), if so. The run
  /// then ends: going on would blame the implementations that come after.
  virtual std::optional<std::string> lost() { return std::nullopt; }
  /// Clocks, power, temperature, throttle reasons in the given windows of steadySeconds(), as
  /// members to merge into the row; {} if nothing was sampled.
  virtual Json window(const std::vector<std::pair<double, double>> &) { return Json::object(); }
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_IMPLEMENTATION_H
