// Compiles attn regions to steps over lanes of keys, and runs them.
#include "attnc/Reference/RegionInterpreter.h"

#include "attnc/Dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace attnc;

void RegionProgram::State::setInt(unsigned argument, int64_t value) {
  slots[argument].ints.assign(1, value);
  slots[argument].uniform = true;
}

void RegionProgram::State::setIota(unsigned argument, int64_t first, size_t lanes) {
  slots[argument].ints.resize(lanes);
  for (size_t i = 0; i < lanes; ++i)
    slots[argument].ints[i] = first + static_cast<int64_t>(i);
  slots[argument].uniform = false;
}

void RegionProgram::State::setFloats(unsigned argument, const double *values, size_t lanes) {
  slots[argument].floats.assign(values, values + lanes);
  slots[argument].uniform = false;
}

RegionProgram::State RegionProgram::makeState() const {
  State state;
  state.slots = initial;
  return state;
}

void RegionProgram::run(State &state, size_t lanes) const {
  for (const Step &step : steps)
    step(state, lanes);
}

namespace attnc {
/// Translates ops to steps; a friend of the program so that the header shows no MLIR machinery.
class RegionCompiler {
public:
  RegionCompiler(RegionProgram &program, const RegionBindings &bindings,
                 RegionProgram::Precision precision)
      : program(program), bindings(bindings), precision(precision) {}

  std::string compile(Region &region);

private:
  using Slot = RegionProgram::Slot;
  using State = RegionProgram::State;

  unsigned newSlot(Value value) {
    unsigned slot = program.initial.size();
    program.initial.emplace_back();
    slots[value] = slot;
    return slot;
  }

  std::optional<unsigned> slotOf(Value value);
  bool compileOp(Operation *op);
  bool compileConstant(arith::ConstantOp op);
  bool compileInteger(Operation *op);
  bool compileFloat(Operation *op);
  bool compileMixed(Operation *op);
  void compileLookup(attn::LookupOp op);

  static auto &lanesOf(Slot &slot, int64_t) { return slot.ints; }
  static auto &lanesOf(Slot &slot, double) { return slot.floats; }

  /// Adds a step that computes the op's result lane by lane. `In` and `Out` are int64_t or double;
  /// all operands are `In`.
  template <unsigned arity, typename In, typename Out, typename Kernel>
  bool lanewise(Operation *op, Kernel kernel) {
    std::array<unsigned, arity> operands;
    for (unsigned i = 0; i < arity; ++i)
      operands[i] = slots[op->getOperand(i)];
    unsigned result = slots[op->getResult(0)];
    Type type = op->getResult(0).getType();
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    bool toF32 = type.isF32() && precision == RegionProgram::Precision::F32;
    program.steps.push_back([=](State &state, size_t lanes) {
      std::array<const In *, arity> in;
      std::array<size_t, arity> step;
      bool uniform = true;
      for (unsigned i = 0; i < arity; ++i) {
        Slot &operand = state.slots[operands[i]];
        in[i] = lanesOf(operand, In()).data();
        step[i] = operand.uniform ? 0 : 1;
        uniform &= operand.uniform;
      }
      Slot &slot = state.slots[result];
      slot.uniform = uniform;
      size_t count = uniform ? 1 : lanes;
      auto &out = lanesOf(slot, Out());
      out.resize(count);
      for (size_t lane = 0; lane < count; ++lane) {
        Out value;
        if constexpr (arity == 1)
          value = kernel(in[0][lane * step[0]]);
        else
          value = kernel(in[0][lane * step[0]], in[1][lane * step[1]]);
        if constexpr (std::is_same_v<Out, int64_t>)
          out[lane] = wrap(value, width);
        else
          out[lane] = toF32 ? static_cast<double>(static_cast<float>(value)) : value;
      }
    });
    return true;
  }

  template <typename Kernel> bool ints(Operation *op, Kernel kernel) {
    return lanewise<2, int64_t, int64_t>(op, kernel);
  }
  template <typename Kernel> bool floats(Operation *op, Kernel kernel) {
    return lanewise<2, double, double>(op, kernel);
  }
  template <typename Kernel> bool function(Operation *op, Kernel kernel) {
    return lanewise<1, double, double>(op, kernel);
  }

  /// Two's complement of the given width, sign-extended; i1 stays 0 or 1.
  static int64_t wrap(int64_t value, unsigned width) {
    if (width == 1)
      return value & 1;
    return width >= 64 ? value : llvm::SignExtend64(static_cast<uint64_t>(value), width);
  }

  template <typename Lane> void compileSelect(arith::SelectOp op) {
    unsigned condition = slots[op.getCondition()], onTrue = slots[op.getTrueValue()],
             onFalse = slots[op.getFalseValue()], result = slots[op.getResult()];
    program.steps.push_back([=](State &state, size_t lanes) {
      Slot &c = state.slots[condition], &a = state.slots[onTrue], &b = state.slots[onFalse];
      Slot &slot = state.slots[result];
      slot.uniform = c.uniform && a.uniform && b.uniform;
      size_t count = slot.uniform ? 1 : lanes;
      auto &out = lanesOf(slot, Lane());
      out.resize(count);
      for (size_t lane = 0; lane < count; ++lane) {
        Slot &chosen = c.ints[c.uniform ? 0 : lane] ? a : b;
        out[lane] = lanesOf(chosen, Lane())[chosen.uniform ? 0 : lane];
      }
    });
  }

  RegionProgram &program;
  const RegionBindings &bindings;
  RegionProgram::Precision precision;
  llvm::DenseMap<Value, unsigned> slots;
  std::string error;
};
} // namespace attnc

std::optional<unsigned> RegionCompiler::slotOf(Value value) {
  auto found = slots.find(value);
  if (found != slots.end())
    return found->second;
  auto scalar = bindings.scalars.find(value);
  if (scalar != bindings.scalars.end()) {
    unsigned slot = newSlot(value);
    if (isa<FloatType>(value.getType()))
      program.initial[slot].floats = {scalar->second};
    else
      program.initial[slot].ints = {static_cast<int64_t>(scalar->second)};
    return slot;
  }
  // An op around the region (a hoisted constant, say): evaluated with it.
  if (Operation *op = value.getDefiningOp(); op && op->getNumResults() == 1 && compileOp(op))
    return slots.lookup(value);
  if (error.empty())
    error = "a region captures a value that was not given (a scalar argument is missing)";
  return std::nullopt;
}

bool RegionCompiler::compileConstant(arith::ConstantOp op) {
  unsigned slot = slots[op.getResult()];
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    bool isBool = op.getType().isInteger(1);
    int64_t value = isBool ? integer.getValue().getZExtValue() : integer.getValue().getSExtValue();
    program.initial[slot].ints = {value};
    return true;
  }
  if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
    program.initial[slot].floats = {real.getValueAsDouble()};
    return true;
  }
  return false;
}

static bool compareInts(arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned width) {
  uint64_t mask = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  uint64_t ua = static_cast<uint64_t>(a) & mask, ub = static_cast<uint64_t>(b) & mask;
  // An i1 is held as 0 or 1, but signed comparison means 0 or −1.
  if (width == 1) {
    a = -a;
    b = -b;
  }
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ua == ub;
  case arith::CmpIPredicate::ne:
    return ua != ub;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  llvm_unreachable("unknown predicate");
}

static bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  }
  llvm_unreachable("unknown predicate");
}

/// Division by zero and the one overflow are undefined in IR; here they give 0.
static bool divides(int64_t a, int64_t b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<int64_t>::min());
}

bool RegionCompiler::compileInteger(Operation *op) {
  using I = int64_t;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddIOp) {
        return ints(op, [](I a, I b) { return static_cast<I>(uint64_t(a) + uint64_t(b)); });
      })
      .Case([&](arith::SubIOp) {
        return ints(op, [](I a, I b) { return static_cast<I>(uint64_t(a) - uint64_t(b)); });
      })
      .Case([&](arith::MulIOp) {
        return ints(op, [](I a, I b) { return static_cast<I>(uint64_t(a) * uint64_t(b)); });
      })
      .Case([&](arith::DivSIOp) {
        return ints(op, [](I a, I b) { return divides(a, b) ? a / b : 0; });
      })
      .Case([&](arith::RemSIOp) {
        return ints(op, [](I a, I b) { return divides(a, b) ? a % b : 0; });
      })
      .Case([&](arith::FloorDivSIOp) {
        return ints(op, [](I a, I b) { return divides(a, b) ? llvm::divideFloorSigned(a, b) : 0; });
      })
      .Case([&](arith::CeilDivSIOp) {
        return ints(op, [](I a, I b) { return divides(a, b) ? llvm::divideCeilSigned(a, b) : 0; });
      })
      .Case([&](arith::MinSIOp) { return ints(op, [](I a, I b) { return std::min(a, b); }); })
      .Case([&](arith::MaxSIOp) { return ints(op, [](I a, I b) { return std::max(a, b); }); })
      .Case([&](arith::AndIOp) { return ints(op, [](I a, I b) { return a & b; }); })
      .Case([&](arith::OrIOp) { return ints(op, [](I a, I b) { return a | b; }); })
      .Case([&](arith::XOrIOp) { return ints(op, [](I a, I b) { return a ^ b; }); })
      .Case([&](arith::ShLIOp) {
        return ints(
            op, [](I a, I b) { return b < 0 || b > 63 ? 0 : static_cast<I>(uint64_t(a) << b); });
      })
      .Case([&](arith::ShRSIOp) {
        return ints(op, [](I a, I b) { return b < 0 || b > 63 ? 0 : a >> b; });
      })
      .Case([&](arith::CmpIOp cmp) {
        auto predicate = cmp.getPredicate();
        Type type = cmp.getLhs().getType();
        unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
        return ints(op, [=](I a, I b) { return I(compareInts(predicate, a, b, width)); });
      })
      .Case<arith::TruncIOp, arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastOp>([&](auto cast) {
        Type from = cast.getIn().getType();
        unsigned width = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
        bool isZeroExtension = isa<arith::ExtUIOp>(op), isBool = width == 1;
        return lanewise<1, I, I>(op, [=](I a) {
          if (isZeroExtension && width < 64)
            return static_cast<I>(uint64_t(a) & ((uint64_t(1) << width) - 1));
          return isBool ? -a : a;
        });
      })
      .Case([&](math::AbsIOp) { return lanewise<1, I, I>(op, [](I a) { return a < 0 ? -a : a; }); })
      .Default([](Operation *) { return false; });
}

bool RegionCompiler::compileFloat(Operation *op) {
  using D = double;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddFOp) { return floats(op, [](D a, D b) { return a + b; }); })
      .Case([&](arith::SubFOp) { return floats(op, [](D a, D b) { return a - b; }); })
      .Case([&](arith::MulFOp) { return floats(op, [](D a, D b) { return a * b; }); })
      .Case([&](arith::DivFOp) { return floats(op, [](D a, D b) { return a / b; }); })
      .Case([&](arith::RemFOp) { return floats(op, [](D a, D b) { return std::fmod(a, b); }); })
      .Case([&](arith::MaximumFOp) {
        return floats(
            op, [](D a, D b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); });
      })
      .Case([&](arith::MinimumFOp) {
        return floats(
            op, [](D a, D b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); });
      })
      .Case([&](arith::MaxNumFOp) { return floats(op, [](D a, D b) { return std::fmax(a, b); }); })
      .Case([&](arith::MinNumFOp) { return floats(op, [](D a, D b) { return std::fmin(a, b); }); })
      .Case([&](math::PowFOp) { return floats(op, [](D a, D b) { return std::pow(a, b); }); })
      .Case([&](arith::NegFOp) { return function(op, [](D a) { return -a; }); })
      .Case([&](math::AbsFOp) { return function(op, [](D a) { return std::fabs(a); }); })
      .Case([&](math::TanhOp) { return function(op, [](D a) { return std::tanh(a); }); })
      .Case([&](math::ExpOp) { return function(op, [](D a) { return std::exp(a); }); })
      .Case([&](math::Exp2Op) { return function(op, [](D a) { return std::exp2(a); }); })
      .Case([&](math::ExpM1Op) { return function(op, [](D a) { return std::expm1(a); }); })
      .Case([&](math::LogOp) { return function(op, [](D a) { return std::log(a); }); })
      .Case([&](math::Log2Op) { return function(op, [](D a) { return std::log2(a); }); })
      .Case([&](math::Log1pOp) { return function(op, [](D a) { return std::log1p(a); }); })
      .Case([&](math::SqrtOp) { return function(op, [](D a) { return std::sqrt(a); }); })
      .Case([&](math::RsqrtOp) { return function(op, [](D a) { return 1 / std::sqrt(a); }); })
      .Case([&](math::SinOp) { return function(op, [](D a) { return std::sin(a); }); })
      .Case([&](math::CosOp) { return function(op, [](D a) { return std::cos(a); }); })
      .Case([&](math::ErfOp) { return function(op, [](D a) { return std::erf(a); }); })
      .Case([&](math::FloorOp) { return function(op, [](D a) { return std::floor(a); }); })
      .Case([&](math::CeilOp) { return function(op, [](D a) { return std::ceil(a); }); })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return function(op, [](D a) { return a; }); })
      .Default([](Operation *) { return false; });
}

bool RegionCompiler::compileMixed(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::SIToFPOp cast) {
        bool isBool = cast.getIn().getType().isInteger(1);
        return lanewise<1, int64_t, double>(
            op, [=](int64_t a) { return static_cast<double>(isBool ? -a : a); });
      })
      .Case([&](arith::UIToFPOp cast) {
        unsigned width = cast.getIn().getType().getIntOrFloatBitWidth();
        uint64_t mask = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
        return lanewise<1, int64_t, double>(
            op, [=](int64_t a) { return static_cast<double>(uint64_t(a) & mask); });
      })
      .Case([&](arith::FPToSIOp) {
        return lanewise<1, double, int64_t>(op, [](double a) {
          return std::fabs(a) < 9e18 ? static_cast<int64_t>(a) : int64_t(0);
        });
      })
      .Case([&](arith::CmpFOp cmp) {
        auto predicate = cmp.getPredicate();
        return lanewise<2, double, int64_t>(
            op, [=](double a, double b) { return int64_t(compareFloats(predicate, a, b)); });
      })
      .Default([](Operation *) { return false; });
}

void RegionCompiler::compileLookup(attn::LookupOp op) {
  auto found = bindings.tensors.find(op.getTensor());
  if (found == bindings.tensors.end()) {
    error = "a region looks up a tensor that was not given (a tensor argument is missing)";
    return;
  }
  const HostTensor *tensor = found->second;
  if (tensor->rank() != static_cast<int64_t>(op.getIndices().size())) {
    error = "a tensor of rank " + std::to_string(tensor->rank()) + " is looked up with " +
            std::to_string(op.getIndices().size()) + " indices; give a tensor of that rank";
    return;
  }
  SmallVector<unsigned> indices;
  for (Value index : op.getIndices())
    indices.push_back(slots[index]);
  unsigned result = slots[op.getResult()];
  bool isFloat = isa<FloatType>(op.getType());
  program.steps.push_back([=](State &state, size_t lanes) {
    Slot &slot = state.slots[result];
    slot.uniform = llvm::all_of(indices, [&](unsigned i) { return state.slots[i].uniform; });
    size_t count = slot.uniform ? 1 : lanes;
    slot.floats.resize(isFloat ? count : 0);
    slot.ints.resize(isFloat ? 0 : count);
    for (size_t lane = 0; lane < count; ++lane) {
      int64_t offset = 0;
      bool inside = true;
      for (auto [d, index] : llvm::enumerate(indices)) {
        int64_t i = RegionProgram::intLane(state.slots[index], lane);
        if (i < 0 || i >= tensor->shape[d]) {
          inside = false;
          if (state.error.empty())
            state.error = "a region reads index " + std::to_string(i) + " of dimension " +
                          std::to_string(d) + " of a tensor with extent " +
                          std::to_string(tensor->shape[d]);
        }
        offset += i * tensor->strides[d];
      }
      double value =
          inside ? loadElement(tensor->data() + offset * dtypeSize(tensor->dtype), tensor->dtype)
                 : 0;
      if (isFloat)
        slot.floats[lane] = value;
      else
        slot.ints[lane] = static_cast<int64_t>(value);
    }
  });
}

bool RegionCompiler::compileOp(Operation *op) {
  auto unsupported = [&] {
    if (error.empty())
      error = "the reference does not evaluate '" + op->getName().getStringRef().str() + "'";
    return false;
  };
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return unsupported();
  auto lookup = dyn_cast<attn::LookupOp>(op);
  for (Value operand : lookup ? ValueRange(lookup.getIndices()) : ValueRange(op->getOperands()))
    if (!slotOf(operand))
      return false;
  Type type = op->getResult(0).getType();
  if (!type.isIndex() && !isa<IntegerType, FloatType>(type))
    return unsupported();
  newSlot(op->getResult(0));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return compileConstant(constant) || unsupported();
  if (lookup) {
    compileLookup(lookup);
    return error.empty();
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (isa<FloatType>(type))
      compileSelect<double>(select);
    else
      compileSelect<int64_t>(select);
    return true;
  }
  return compileInteger(op) || compileFloat(op) || compileMixed(op) || unsupported();
}

std::string RegionCompiler::compile(Region &region) {
  Block &block = region.front();
  // State::set… addresses arguments by their numbers.
  for (BlockArgument argument : block.getArguments())
    newSlot(argument);
  for (Operation &op : block.without_terminator())
    if (!compileOp(&op))
      return error;
  for (Value value : block.getTerminator()->getOperands()) {
    auto slot = slotOf(value);
    if (!slot)
      return error;
    program.results.push_back(*slot);
  }
  return error;
}

std::string RegionProgram::compile(Region &region, const RegionBindings &bindings,
                                   Precision precision) {
  steps.clear();
  initial.clear();
  results.clear();
  return RegionCompiler(*this, bindings, precision).compile(region);
}
