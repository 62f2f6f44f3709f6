// KV bounds against brute force: every mask is evaluated for every pair of positions, and what the
// bounds region says of blocks of rows and keys is compared with what the mask says.
#include "attnc/Dialect/Attn/Transforms.h"
#include "attnc/Reference/RegionInterpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace attnc;

namespace {

/// What brute force is held against.
enum Tightness {
  /// Never skips a visible key, never calls full what is not.
  kSound,
  /// And the visible range is the hull of the visible keys.
  kTightHull,
  /// And the full range is a longest run of keys that all rows see.
  kExact
};

struct Sweep {
  std::vector<int64_t> lensQ{1, 2, 3, 7, 12}, lensKv{0, 1, 2, 5, 12, 19}, scalars{0};
  int64_t heads = 1;
};

class KvBounds : public ::testing::Test {
protected:
  KvBounds() {
    context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect>();
    table = HostTensor::empty(DType::I32, {64});
    for (int64_t i = 0; i < 64; ++i)
      table.set({i}, static_cast<double>((i * i + 3 * i) % 7));
  }

  /// `masks` is the attribute, or empty; `body` the lines of a mask region, or empty. In scope:
  /// %b %h %q %kv %len_q %len_kv, %p (q_pos), and of the function %s, %t: i32, %flag: i1,
  /// %table: tensor<?xi32>.
  void check(const std::string &masks, const std::string &body, Tightness tightness, Sweep sweep);
  void check(const std::string &body, Tightness tightness, Sweep sweep = {}) {
    check("", body, tightness, std::move(sweep));
  }
  /// Evaluates the bounds of the last checked mask.
  std::array<int64_t, 4> evaluate(int64_t lenQ, int64_t lenKv, int64_t first, int64_t last,
                                  int64_t s);

  MLIRContext context;
  HostTensor table;
  OwningOpRef<ModuleOp> module;
  attn::AttentionOpInterface op;
  func::FuncOp function;
  bool usesI64 = false;

private:
  void parse(const std::string &masks, const std::string &body, int64_t heads);
  void checkBlock(const std::vector<std::vector<bool>> &sees, std::array<int64_t, 4> bounds,
                  int64_t first, int64_t last, int64_t lenKv, Tightness tightness);
  RegionBindings bind(int64_t s, int64_t t, bool flag);
};

} // namespace

void KvBounds::parse(const std::string &masks, const std::string &body, int64_t heads) {
  std::string h = std::to_string(heads);
  std::string type = "tensor<?x" + h + "x?x64xf16>";
  std::string source = "func.func @f(%q_: " + type + ", %k_: " + type + ", %v_: " + type +
                       ", %s: i32, %t: i32, %flag: i1, %table: tensor<?xi32>) -> " + type +
                       " {\n%o = attn.prefill %q_, %k_, %v_ {" +
                       (masks.empty() ? "" : "masks = " + masks) + "} : " + type + ", " + type +
                       ", " + type + " -> " + type + "\n";
  if (!body.empty())
    source += "mask {\n^bb0(%b: i32, %h: i32, %q: i32, %kv: i32, %len_q: i32, %len_kv: i32):\n"
              "%past = arith.addi %q, %len_kv : i32\n%p = arith.subi %past, %len_q : i32\n" +
              body + "}\n";
  source += "return %o : " + type + "\n}\n";
  module = parseSourceString<ModuleOp>(source, &context);
  ASSERT_TRUE(module) << source;
  function = *module->getOps<func::FuncOp>().begin();
  op = *function.getOps<attn::AttentionOpInterface>().begin();
  attn::resolveVariant(op);
  ASSERT_TRUE(attn::deriveKvBounds(op));
  ASSERT_TRUE(succeeded(verify(*module)));
  usesI64 = false;
  op.getBounds().walk([&](Operation *inner) {
    for (Type result : inner->getResultTypes())
      usesI64 |= result.isInteger(64);
  });
}

RegionBindings KvBounds::bind(int64_t s, int64_t t, bool flag) {
  RegionBindings bindings;
  bindings.scalars[function.getArgument(3)] = static_cast<double>(s);
  bindings.scalars[function.getArgument(4)] = static_cast<double>(t);
  bindings.scalars[function.getArgument(5)] = flag;
  bindings.tensors[function.getArgument(6)] = &table;
  return bindings;
}

std::array<int64_t, 4> KvBounds::evaluate(int64_t lenQ, int64_t lenKv, int64_t first, int64_t last,
                                          int64_t s) {
  RegionProgram program;
  RegionBindings bindings = bind(s, 0, false);
  std::string error = program.compile(op.getBounds(), bindings, RegionProgram::Precision::F64);
  EXPECT_EQ(error, "");
  auto state = program.makeState();
  int64_t arguments[] = {0, 0, first, last, lenQ, lenKv};
  for (auto [i, value] : llvm::enumerate(arguments))
    state.setInt(i, value);
  program.run(state, 1);
  std::array<int64_t, 4> result;
  for (unsigned i = 0; i < 4; ++i)
    result[i] = RegionProgram::intLane(program.result(state, i), 0);
  return result;
}

/// Blocks of n keys by what the range [begin, end) has of each: none, some, all.
static std::array<int64_t, 2> touchedAndCovered(const std::vector<bool> &keys, int64_t n) {
  int64_t touched = 0, covered = 0;
  for (int64_t block = 0; block < static_cast<int64_t>(keys.size()); block += n) {
    int64_t end = std::min<int64_t>(block + n, keys.size());
    bool any = false, all = true;
    for (int64_t kv = block; kv < end; ++kv) {
      any |= keys[kv];
      all &= keys[kv];
    }
    touched += any;
    covered += all;
  }
  return {touched, covered};
}

void KvBounds::checkBlock(const std::vector<std::vector<bool>> &sees, std::array<int64_t, 4> bounds,
                          int64_t first, int64_t last, int64_t lenKv, Tightness tightness) {
  auto [lower, fullLower, fullUpper, upper] = bounds;
  ASSERT_LE(0, lower);
  ASSERT_LE(lower, fullLower);
  ASSERT_LE(fullLower, fullUpper);
  ASSERT_LE(fullUpper, upper);
  ASSERT_LE(upper, lenKv);

  int64_t end = std::min<int64_t>(last + 1, sees.size());
  std::vector<bool> any(lenKv, false), all(lenKv, true);
  for (int64_t q = first; q < end; ++q)
    for (int64_t kv = 0; kv < lenKv; ++kv) {
      any[kv] = any[kv] || sees[q][kv];
      all[kv] = all[kv] && sees[q][kv];
    }
  int64_t hullLower = lenKv, hullUpper = 0, run = 0, longest = 0;
  for (int64_t kv = 0; kv < lenKv; ++kv) {
    if (any[kv]) {
      hullLower = std::min(hullLower, kv);
      hullUpper = kv + 1;
      ASSERT_TRUE(lower <= kv && kv < upper) << "skips visible key " << kv;
    }
    if (fullLower <= kv && kv < fullUpper)
      ASSERT_TRUE(all[kv]) << "key " << kv << " is not visible to all";
    run = all[kv] ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  if (tightness >= kTightHull) {
    if (hullLower >= hullUpper) {
      ASSERT_EQ(lower, upper) << "nothing is visible";
    } else {
      ASSERT_EQ(lower, hullLower);
      ASSERT_EQ(upper, hullUpper);
    }
  }
  if (tightness == kExact) {
    ASSERT_EQ(fullUpper - fullLower, longest);
    // Where the visible keys are one range, whole blocks must come out alike for any block size.
    std::vector<bool> visible(lenKv, false), full(lenKv, false);
    std::fill(visible.begin() + lower, visible.begin() + upper, true);
    std::fill(full.begin() + fullLower, full.begin() + fullUpper, true);
    if (visible == any && full == all)
      for (int64_t n : {1, 3, 4, 16}) {
        auto derivedVisible = touchedAndCovered(visible, n), isVisible = touchedAndCovered(any, n);
        auto derivedFull = touchedAndCovered(full, n), isFull = touchedAndCovered(all, n);
        ASSERT_EQ(derivedVisible[0], isVisible[0]) << "blocks not skipped, block size " << n;
        ASSERT_EQ(derivedFull[1], isFull[1]) << "full blocks, block size " << n;
      }
  }
}

void KvBounds::check(const std::string &masks, const std::string &body, Tightness tightness,
                     Sweep sweep) {
  parse(masks, body, sweep.heads);
  if (HasFatalFailure())
    return;
  for (int64_t s : sweep.scalars)
    for (bool flag : {false, true}) {
      RegionBindings bindings = bind(s, 2 * s + 1, flag);
      RegionProgram mask, bounds;
      if (!op.getMask().empty()) {
        ASSERT_EQ(mask.compile(op.getMask(), bindings, RegionProgram::Precision::F64), "");
      }
      ASSERT_EQ(bounds.compile(op.getBounds(), bindings, RegionProgram::Precision::F64), "");
      auto maskState = mask.makeState(), boundsState = bounds.makeState();
      for (int64_t head = 0; head < sweep.heads; ++head)
        for (int64_t lenQ : sweep.lensQ)
          for (int64_t lenKv : sweep.lensKv) {
            std::vector<std::vector<bool>> sees(lenQ, std::vector<bool>(lenKv, true));
            for (int64_t q = 0; q < lenQ && lenKv && !op.getMask().empty(); ++q) {
              maskState.setInt(0, 0);
              maskState.setInt(1, head);
              maskState.setInt(2, q);
              maskState.setIota(3, 0, lenKv);
              maskState.setInt(4, lenQ);
              maskState.setInt(5, lenKv);
              mask.run(maskState, lenKv);
              for (int64_t kv = 0; kv < lenKv; ++kv)
                sees[q][kv] = RegionProgram::intLane(mask.result(maskState, 0), kv);
            }
            for (int64_t first = 0; first < lenQ; ++first)
              for (int64_t rows : {1, 2, 4, 64}) {
                int64_t arguments[] = {0, head, first, first + rows - 1, lenQ, lenKv};
                for (auto [i, value] : llvm::enumerate(arguments))
                  boundsState.setInt(i, value);
                bounds.run(boundsState, 1);
                std::array<int64_t, 4> result;
                for (unsigned i = 0; i < 4; ++i)
                  result[i] = RegionProgram::intLane(bounds.result(boundsState, i), 0);
                checkBlock(sees, result, first, first + rows - 1, lenKv, tightness);
                if (HasFatalFailure()) {
                  std::string text;
                  llvm::raw_string_ostream stream(text);
                  module->print(stream);
                  FAIL() << "rows [" << first << ", " << first + rows - 1 << "], len_q " << lenQ
                         << ", len_kv " << lenKv << ", head " << head << ", s " << s << ", flag "
                         << flag << ": lower " << result[0] << ", full [" << result[1] << ", "
                         << result[2] << "), upper " << result[3] << "\n"
                         << text;
                }
              }
          }
    }
}

TEST_F(KvBounds, NoMask) {
  check("", "", kExact, {});
  EXPECT_EQ(evaluate(5, 9, 0, 3, 0), (std::array<int64_t, 4>{0, 0, 9, 9}));
}

TEST_F(KvBounds, NamedMasks) {
  for (const char *masks :
       {"[#attn.causal<bottom_right>]", "[#attn.causal<top_left>]", "[#attn.window<3, 0>]",
        "[#attn.window<0, 0>]", "[#attn.window<2, 4>]", "[#attn.window<-1, 2>]",
        "[#attn.window<1, -1>]", "[#attn.window<-1, -1>]",
        "[#attn.causal<bottom_right>, #attn.window<3, 5>]",
        "[#attn.causal<bottom_right>, #attn.window<4, -1>]"}) {
    SCOPED_TRACE(masks);
    check(masks, "", kExact, {});
    EXPECT_FALSE(usesI64);
  }
  // Two bounds on the right, of which neither implies the other.
  check("[#attn.causal<top_left>, #attn.causal<bottom_right>]", "", kExact, {});
}

TEST_F(KvBounds, PrefixLm) {
  Sweep sweep;
  sweep.scalars = {-2, 0, 1, 4, 11, 40};
  check(R"(%in = arith.cmpi slt, %kv, %s : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %r = arith.ori %in, %causal : i1
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, PrefixPerSequence) {
  check(R"(%prefix = attn.lookup %table[%b] : tensor<?xi32> -> i32
           %in = arith.cmpi slt, %kv, %prefix : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %r = arith.ori %in, %causal : i1
           attn.yield %r : i1)",
        kExact);
}

TEST_F(KvBounds, RunTimeWindow) {
  Sweep sweep;
  sweep.scalars = {-3, 0, 1, 4, 30, INT32_MAX, INT32_MIN};
  check(R"(%causal = arith.cmpi sge, %p, %kv : i32
           %d = arith.subi %p, %kv : i32
           %near = arith.cmpi slt, %d, %s : i32
           %r = arith.andi %causal, %near : i1
           attn.yield %r : i1)",
        kExact, sweep);
  EXPECT_TRUE(usesI64) << "p − win overflows i32 for win = INT_MAX";
}

// kv_pos >= 4 and 2*kv_pos <= q_pos
TEST_F(KvBounds, OddHalf) {
  check(R"(%c2 = arith.constant 2 : i32
           %c4 = arith.constant 4 : i32
           %a = arith.cmpi sge, %kv, %c4 : i32
           %twice = arith.muli %kv, %c2 : i32
           %c = arith.cmpi sle, %twice, %p : i32
           %r = arith.andi %a, %c : i1
           attn.yield %r : i1)",
        kExact);
}

// kv_pos - q_pos <= win and q_pos >= 3*kv_pos - 7
TEST_F(KvBounds, OddThird) {
  Sweep sweep;
  sweep.scalars = {-4, -1, 0, 2, INT32_MAX};
  check(R"(%c3 = arith.constant 3 : i32
           %c7 = arith.constant 7 : i32
           %d = arith.subi %kv, %p : i32
           %a = arith.cmpi sle, %d, %s : i32
           %m = arith.muli %c3, %kv : i32
           %n = arith.subi %m, %c7 : i32
           %c = arith.cmpi sge, %p, %n : i32
           %r = arith.andi %a, %c : i1
           attn.yield %r : i1)",
        kExact, sweep);
}

// Sink tokens beside a window: kv < s or (kv <= p and p - kv < 3). The hidden keys between are a
// range in the middle, so the larger side of the full keys is kept.
TEST_F(KvBounds, SinkTokensAndWindow) {
  Sweep sweep;
  sweep.scalars = {0, 1, 2, 6, 30};
  check(R"(%c3 = arith.constant 3 : i32
           %sink = arith.cmpi slt, %kv, %s : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %d = arith.subi %p, %kv : i32
           %near = arith.cmpi slt, %d, %c3 : i32
           %window = arith.andi %causal, %near : i1
           %r = arith.ori %sink, %window : i1
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, NegationAndExclusiveOr) {
  Sweep sweep;
  sweep.scalars = {0, 3, 9};
  // not (kv > p)
  check(R"(%true = arith.constant true
           %after = arith.cmpi sgt, %kv, %p : i32
           %r = arith.xori %after, %true : i1
           attn.yield %r : i1)",
        kExact, sweep);
  // (kv > p) xor (kv >= s)
  check(R"(%after = arith.cmpi sgt, %kv, %p : i32
           %far = arith.cmpi sge, %kv, %s : i32
           %r = arith.xori %after, %far : i1
           attn.yield %r : i1)",
        kTightHull, sweep);
  // (kv > p) == (kv >= s) and kv <= p
  check(R"(%after = arith.cmpi sgt, %kv, %p : i32
           %far = arith.cmpi sge, %kv, %s : i32
           %same = arith.cmpi eq, %after, %far : i1
           %causal = arith.cmpi sle, %kv, %p : i32
           %r = arith.andi %same, %causal : i1
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, Equality) {
  check(R"(%r = arith.cmpi eq, %kv, %p : i32
           attn.yield %r : i1)",
        kExact);
  check(R"(%r = arith.cmpi ne, %kv, %p : i32
           attn.yield %r : i1)",
        kTightHull);
  Sweep sweep;
  sweep.scalars = {-1, 0, 4, 18};
  check(R"(%r = arith.cmpi ne, %kv, %s : i32
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, ConditionsOnSymbolsAlone) {
  Sweep sweep;
  sweep.scalars = {-2, 0, 5, 12};
  // Rows before s see nothing.
  check(R"(%r = arith.cmpi sge, %p, %s : i32
           attn.yield %r : i1)",
        kExact, sweep);
  // Causal only if the flag is set.
  check(R"(%causal = arith.cmpi sle, %kv, %p : i32
           %true = arith.constant true
           %off = arith.xori %flag, %true : i1
           %r = arith.ori %off, %causal : i1
           attn.yield %r : i1)",
        kExact, sweep);
  check(R"(%causal = arith.cmpi sle, %kv, %p : i32
           %near = arith.cmpi sge, %kv, %s : i32
           %r = arith.select %flag, %causal, %near : i1
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, ConstantMasks) {
  check(R"(%r = arith.constant true
           attn.yield %r : i1)",
        kExact);
  check(R"(%r = arith.constant false
           attn.yield %r : i1)",
        kExact);
  check(R"(%a = arith.cmpi slt, %kv, %p : i32
           %c = arith.cmpi sgt, %kv, %p : i32
           %r = arith.andi %a, %c : i1
           attn.yield %r : i1)",
        kExact);
}

TEST_F(KvBounds, MaxMinAndSelectOfPositions) {
  Sweep sweep;
  sweep.scalars = {0, 3, 14};
  check(R"(%last = arith.maxsi %p, %s : i32
           %r = arith.cmpi sle, %kv, %last : i32
           attn.yield %r : i1)",
        kExact, sweep);
  check(R"(%last = arith.minsi %p, %s : i32
           %r = arith.cmpi sle, %kv, %last : i32
           attn.yield %r : i1)",
        kExact, sweep);
  check(R"(%late = arith.cmpi sge, %p, %s : i32
           %c2 = arith.constant 2 : i32
           %near = arith.subi %p, %c2 : i32
           %from = arith.select %late, %near, %s : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %after = arith.cmpi sge, %kv, %from : i32
           %r = arith.andi %causal, %after : i1
           attn.yield %r : i1)",
        kTightHull, sweep);
  // A maximum of symbols is a symbol.
  check(R"(%far = arith.maxsi %s, %t : i32
           %r = arith.cmpi slt, %kv, %far : i32
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, WindowOfTheHead) {
  Sweep sweep;
  sweep.heads = 4;
  check(R"(%d = arith.subi %p, %kv : i32
           %near = arith.cmpi sle, %d, %h : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %r = arith.andi %near, %causal : i1
           attn.yield %r : i1)",
        kExact, sweep);
}

TEST_F(KvBounds, OpaqueConditionsBoundNothing) {
  // Documents: the causal part still skips; nothing is known to be full.
  check(R"(%dq = attn.lookup %table[%q] : tensor<?xi32> -> i32
           %dk = attn.lookup %table[%kv] : tensor<?xi32> -> i32
           %same = arith.cmpi eq, %dq, %dk : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %r = arith.andi %same, %causal : i1
           attn.yield %r : i1)",
        kSound);
  EXPECT_EQ(evaluate(8, 8, 2, 3, 0), (std::array<int64_t, 4>{0, 0, 0, 4}));
  // Or-ed with an opaque condition, the causal keys are full, and all may be visible.
  check(R"(%dk = attn.lookup %table[%kv] : tensor<?xi32> -> i32
           %c3 = arith.constant 3 : i32
           %some = arith.cmpi ult, %dk, %c3 : i32
           %causal = arith.cmpi sle, %kv, %p : i32
           %r = arith.ori %some, %causal : i1
           attn.yield %r : i1)",
        kSound);
  EXPECT_EQ(evaluate(8, 8, 2, 3, 0), (std::array<int64_t, 4>{0, 0, 3, 8}));
}

TEST_F(KvBounds, CoefficientsOnQ) {
  Sweep sweep;
  sweep.scalars = {0, 5};
  // 3q ≤ 2kv + s: one constraint with a coefficient on q projects exactly.
  check(R"(%c2 = arith.constant 2 : i32
           %c3 = arith.constant 3 : i32
           %a = arith.muli %q, %c3 : i32
           %m = arith.muli %kv, %c2 : i32
           %n = arith.addi %m, %s : i32
           %r = arith.cmpi sle, %a, %n : i32
           attn.yield %r : i1)",
        kExact, sweep);
  // 2q ≤ 3kv and 3q ≥ 2kv: two of them may leave keys no integer q sees.
  check(R"(%c2 = arith.constant 2 : i32
           %c3 = arith.constant 3 : i32
           %a = arith.muli %q, %c2 : i32
           %m = arith.muli %kv, %c3 : i32
           %x = arith.cmpi sle, %a, %m : i32
           %c = arith.muli %q, %c3 : i32
           %n = arith.muli %kv, %c2 : i32
           %y = arith.cmpi sge, %c, %n : i32
           %r = arith.andi %x, %y : i1
           attn.yield %r : i1)",
        kSound, sweep);
}

// Random formulas of affine comparisons under and, or, xor, not and select: always sound.
TEST_F(KvBounds, RandomMasksAreSound) {
  std::mt19937 random(20261201);
  auto pick = [&](int low, int high) {
    return static_cast<int>(random() % static_cast<unsigned>(high - low + 1)) + low;
  };
  const char *predicates[] = {"slt", "sle", "sgt", "sge", "eq", "ne"};
  for (int round = 0; round < 250; ++round) {
    std::string body;
    int next = 0;
    auto constant = [&](int value) {
      std::string name = "%k" + std::to_string(next++);
      body += name + " = arith.constant " + std::to_string(value) + " : i32\n";
      return name;
    };
    auto emit = [&](const std::string &text, const char *type) {
      std::string name = "%e" + std::to_string(next++);
      body += name + " = " + text + " : " + type + "\n";
      return name;
    };
    auto linear = [&] {
      const char *terms[] = {"%q", "%kv", "%p", "%len_kv", "%s", "%h", "%kv"};
      std::string sum = constant(pick(-6, 6));
      for (int i = pick(1, 2); i > 0; --i) {
        std::string factor = constant(pick(-3, 3));
        std::string product =
            emit(std::string("arith.muli ") + terms[pick(0, 6)] + ", " + factor, "i32");
        sum = emit("arith.addi " + sum + ", " + product, "i32");
      }
      if (pick(0, 5) == 0)
        sum = emit(std::string("arith.") + (pick(0, 1) ? "maxsi " : "minsi ") + sum + ", " +
                       (pick(0, 1) ? "%p" : "%s"),
                   "i32");
      return sum;
    };
    std::vector<std::string> conditions;
    for (int i = pick(1, 4); i > 0; --i) {
      std::string a = linear();
      conditions.push_back(emit(std::string("arith.cmpi ") + predicates[pick(0, 5)] + ", " + a +
                                    ", " + (pick(0, 1) ? "%kv" : "%p"),
                                "i32"));
    }
    while (conditions.size() > 1) {
      std::string a = conditions.back();
      conditions.pop_back();
      std::string &b = conditions.back();
      const char *ops[] = {"andi", "ori", "xori", "andi", "ori"};
      int op = pick(0, 5);
      b = op == 5 ? emit("arith.select %flag, " + a + ", " + b, "i1")
                  : emit(std::string("arith.") + ops[op] + " " + a + ", " + b, "i1");
    }
    body += "attn.yield " + conditions.front() + " : i1\n";
    SCOPED_TRACE("round " + std::to_string(round));
    Sweep sweep;
    sweep.lensQ = {1, 6};
    sweep.lensKv = {0, 1, 7, 13};
    sweep.scalars = {-3, 2, 9};
    sweep.heads = 2;
    check(body, kSound, sweep);
    if (HasFatalFailure())
      return;
  }
}

// Long formulas reach the limits on pieces and constraints; what is dropped there must be sound.
TEST_F(KvBounds, LongFormulasAreSound) {
  std::mt19937 random(42);
  auto pick = [&](int low, int high) {
    return static_cast<int>(random() % static_cast<unsigned>(high - low + 1)) + low;
  };
  for (const char *connective : {"andi", "ori", "xori", "mixed"}) {
    SCOPED_TRACE(connective);
    std::string body, last;
    for (int i = 0; i < 60; ++i) {
      std::string n = std::to_string(i);
      body += "%k" + n + " = arith.constant " + std::to_string(pick(2, 5)) + " : i32\n%c" + n +
              " = arith.constant " + std::to_string(pick(-40, 40)) + " : i32\n%m" + n +
              " = arith.muli %k" + n + ", " + (pick(0, 1) ? "%q" : "%kv") + " : i32\n%a" + n +
              " = arith.addi %m" + n + ", %c" + n + " : i32\n%z" + n + " = arith.cmpi " +
              (pick(0, 1) ? "sle" : "ne") + ", %a" + n + ", " + (pick(0, 1) ? "%kv" : "%p") +
              " : i32\n";
      std::string op = connective;
      if (op == "mixed")
        op = pick(0, 2) ? (pick(0, 1) ? "andi" : "ori") : "xori";
      if (i)
        body += "%r" + n + " = arith." + op + " " + last + ", %z" + n + " : i1\n";
      last = (i ? "%r" : "%z") + n;
    }
    Sweep sweep;
    sweep.lensQ = {5};
    sweep.lensKv = {0, 9};
    check(body + "attn.yield " + last + " : i1\n", kSound, sweep);
  }
  // So long that it is not looked at.
  std::string body = "%r0 = arith.cmpi sle, %kv, %p : i32\n";
  for (int i = 1; i < 1200; ++i)
    body += "%r" + std::to_string(i) + " = arith.andi %r" + std::to_string(i - 1) + ", %r0 : i1\n";
  check(body + "attn.yield %r1199 : i1\n", kSound);
  EXPECT_EQ(evaluate(4, 4, 0, 1, 0), (std::array<int64_t, 4>{0, 0, 0, 4}));
}
