// Evaluates the regions of attn ops (mask, score, bounds) on the CPU, many keys at a time. It is
// the reference's and the tests' idea of what a region means, on purpose apart from every lowering.
#ifndef ATTNC_REFERENCE_REGIONINTERPRETER_H
#define ATTNC_REFERENCE_REGIONINTERPRETER_H

#include "attnc/Support/HostTensor.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <string>
#include <vector>

namespace attnc {

/// What the values captured by a region hold: arguments of the enclosing function.
struct RegionBindings {
  llvm::DenseMap<mlir::Value, double> scalars;
  llvm::DenseMap<mlir::Value, const HostTensor *> tensors;
};

/// A region as a list of steps over slots. Immutable once compiled; shared by threads, each of
/// which has its own State.
class RegionProgram {
public:
  /// One value: a lane a key, or a single lane that all keys share. Integers (i1 as 0 or 1) are in
  /// `ints`, floats in `floats`.
  struct Slot {
    std::vector<int64_t> ints;
    std::vector<double> floats;
    bool uniform = true;
  };

  /// The slots of one evaluation. Reusable; keeps its storage.
  struct State {
    std::vector<Slot> slots;
    /// Set when a lookup leaves its tensor; the lane then reads 0.
    std::string error;

    void setInt(unsigned argument, int64_t value);
    /// first, first + 1, …, one a lane.
    void setIota(unsigned argument, int64_t first, size_t lanes);
    /// `values` has one double a lane.
    void setFloats(unsigned argument, const double *values, size_t lanes);
  };

  /// Rounding of f32 operations: none (all is f64), or to f32 after each.
  enum class Precision { F64, F32 };

  /// Compiles a non-empty region of one block. Returns an error message, empty on success.
  std::string compile(mlir::Region &region, const RegionBindings &bindings, Precision precision);

  State makeState() const;
  /// Evaluates all lanes; the region's arguments must be set in the state.
  void run(State &state, size_t lanes) const;

  /// Yielded values after run().
  const Slot &result(const State &state, unsigned index) const {
    return state.slots[results[index]];
  }
  static int64_t intLane(const Slot &slot, size_t lane) {
    return slot.ints[slot.uniform ? 0 : lane];
  }
  static double floatLane(const Slot &slot, size_t lane) {
    return slot.floats[slot.uniform ? 0 : lane];
  }

private:
  friend class RegionCompiler;
  using Step = std::function<void(State &, size_t lanes)>;
  std::vector<Step> steps;
  /// Slots with captured values and constants filled in.
  std::vector<Slot> initial;
  llvm::SmallVector<unsigned> results;
};

} // namespace attnc

#endif // ATTNC_REFERENCE_REGIONINTERPRETER_H
