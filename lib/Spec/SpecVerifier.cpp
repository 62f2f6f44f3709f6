// Every limit of a spec that is not a matter of YAML: found, allowed, what to do.
#include "attnc/Spec/Expression.h"
#include "attnc/Spec/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cfloat>
#include <cmath>

using namespace llvm;

namespace attnc {
namespace {

class Verifier {
public:
  explicit Verifier(const Spec &spec) : spec(spec) {}

  std::vector<SpecFault> run() {
    checkName();
    checkHeads();
    // One number written once is one fault.
    if (spec.dimQk == spec.dimV) {
      checkDim("dim", "dim", spec.dimQk);
    } else {
      checkDim("dim.qk", "dim qk", spec.dimQk);
      checkDim("dim.v", "dim v", spec.dimV);
    }
    checkDTypes();
    checkLengths();
    checkMasks();
    checkScores();
    checkArgs();
    if (spec.scale && !isPositive(*spec.scale))
      fault("scale", "scale is " + std::to_string(*spec.scale) +
                         "; it must be above zero and finite in f32");
    return std::move(faults);
  }

private:
  void fault(StringRef key, const std::string &message, SpecLoc loc = {}) {
    faults.push_back({key.str(), message, loc});
  }
  static std::string number(int64_t value) { return std::to_string(value); }
  static bool isPositive(double value) {
    auto single = static_cast<float>(value);
    return single >= FLT_MIN && std::isfinite(single);
  }
  static bool isFloat(DType dtype) {
    return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32;
  }

  void checkName() {
    const std::string &name = spec.name;
    bool good = !name.empty() && name.size() <= 128 && (isAlpha(name[0]) || name[0] == '_') &&
                all_of(name, [](char c) { return isAlnum(c) || c == '_' || c == '-'; });
    if (!good)
      fault("name",
            "name is '" + StringRef(name).take_front(64).str() +
                "'; it must start with a letter and have 1 to 128 letters, digits, '-' and '_'");
  }

  void checkHeads() {
    auto inRange = [&](StringRef key, StringRef what, int64_t count) {
      if (count >= 1 && count <= kMaxHeads)
        return true;
      fault(key, what.str() + " is " + number(count) + "; allowed are 1 to " + number(kMaxHeads));
      return false;
    };
    bool ok;
    if (spec.headsQ == spec.headsKv) {
      ok = inRange("heads", "heads", spec.headsQ);
    } else {
      bool okQ = inRange("heads.q", "heads q", spec.headsQ);
      ok = inRange("heads.kv", "heads kv", spec.headsKv) && okQ;
    }
    if (ok && spec.headsQ % spec.headsKv != 0)
      fault("heads",
            "heads q is " + number(spec.headsQ) + " and heads kv is " + number(spec.headsKv) +
                "; heads q must be a multiple of heads kv (each KV head serves the same number of "
                "query heads)");
  }

  void checkDim(StringRef key, const std::string &what, int64_t dim) {
    if (dim >= kDimStep && dim <= kMaxDim && dim % kDimStep == 0)
      return;
    std::string message = what + " is " + number(dim) + "; allowed are the multiples of " +
                          number(kDimStep) + " from " + number(kDimStep) + " to " +
                          number(kMaxDim) + " (8, 16, 24, …, 64, …, 128, …, 256, …, 576)";
    if (dim > 0 && dim < kMaxDim)
      message += "; pad q, k and v with zeros to " +
                 number((dim + kDimStep - 1) / kDimStep * kDimStep) +
                 " and give the scale of the true dim";
    fault(key, message);
  }

  void checkDTypes() {
    for (auto [key, dtype] :
         {std::pair("q", spec.dtypeQ), std::pair("kv", spec.dtypeKv), std::pair("o", spec.dtypeO)})
      if (!isFloat(dtype))
        fault("dtype", std::string("dtype ") + key + " is " + dtypeName(dtype) +
                           "; allowed are f16, bf16 and f32");
    if (spec.dtypeQ != spec.dtypeKv)
      fault("dtype", std::string("dtype q is ") + dtypeName(spec.dtypeQ) + " and dtype kv is " +
                         dtypeName(spec.dtypeKv) + "; they must be the same: convert one of them");
    if (spec.bias && !isFloat(*spec.bias))
      fault("bias",
            std::string("bias is ") + dtypeName(*spec.bias) + "; allowed are f16, bf16 and f32");
  }

  void checkLengths() {
    if (spec.pageSize) {
      if (*spec.pageSize < 1 || *spec.pageSize > kMaxPage)
        fault("kv", "the page size is " + number(*spec.pageSize) + " tokens; allowed are 1 to " +
                        number(kMaxPage));
      if (spec.seq == SpecSeq::Varlen)
        fault("kv", "a paged KV cache has its lengths in kv_lens, not in cu_seqlens; use 'seq: "
                    "{kv: lens}'");
      if (spec.seq == SpecSeq::Dense)
        fault("kv", "a paged KV cache needs lengths; use 'seq: {kv: lens}'");
    }
    bool decode = spec.kind == SpecKind::Decode;
    if (decode && (spec.maxQ < 1 || spec.maxQ > kMaxDecodeQ))
      fault("seq", "seq.q allows up to " + number(spec.maxQ) +
                       " query tokens; a decode allows 1 to " + number(kMaxDecodeQ) +
                       ": use 'kind: prefill' for more");
    if (spec.splitKv && !decode)
      fault("split_kv", "split_kv is " + number(*spec.splitKv) +
                            " but the kind is prefill, which never splits its keys; remove it or "
                            "use 'kind: decode'");
    else if (spec.splitKv && (*spec.splitKv < 1 || *spec.splitKv > kMaxSplits))
      fault("split_kv", "split_kv is " + number(*spec.splitKv) + "; allowed are auto or 1 to " +
                            number(kMaxSplits));
  }

  void checkMasks() {
    if (spec.masks.size() > kMaxSpecParts)
      fault("mask", "mask has " + number(static_cast<int64_t>(spec.masks.size())) +
                        " parts; allowed are up to " + number(kMaxSpecParts) +
                        ": join expressions with 'and'");
    for (const SpecMask &mask : spec.masks) {
      if (mask.kind == SpecMask::Kind::Window) {
        if (mask.left < -1 || mask.right < -1 || mask.left > kMaxWindow || mask.right > kMaxWindow)
          fault("mask",
                "the window is [" + number(mask.left) + ", " + number(mask.right) +
                    "]; allowed are -1 (unbounded) to " + number(kMaxWindow),
                mask.loc);
        else if (mask.left < 0 && mask.right < 0)
          fault("mask",
                "the window is unbounded on both sides, so it hides nothing; bound one side or "
                "remove it",
                mask.loc);
      }
      if (mask.kind == SpecMask::Kind::Expression && !mask.expression)
        fault("mask", "an expression mask has no expression", mask.loc);
      if (mask.kind == SpecMask::Kind::PrefixLm || mask.kind == SpecMask::Kind::Document)
        checkArgUse("mask", mask.arg, mask.kind == SpecMask::Kind::PrefixLm ? 0 : 2,
                    mask.kind == SpecMask::Kind::PrefixLm ? 1 : 2, DType::I32, mask.loc);
    }
  }

  void checkScores() {
    if (spec.scores.size() > kMaxSpecParts)
      fault("score", "score has " + number(static_cast<int64_t>(spec.scores.size())) +
                         " parts; allowed are up to " + number(kMaxSpecParts) +
                         ": write one expression");
    for (const SpecScore &score : spec.scores) {
      if (score.kind == SpecScore::Kind::Softcap && !isPositive(score.cap))
        fault("score",
              "softcap is " + std::to_string(score.cap) +
                  "; it must be above zero and finite in f32",
              score.loc);
      if (score.kind == SpecScore::Kind::Expression && !score.expression)
        fault("score", "an expression score has no expression", score.loc);
      if (score.kind == SpecScore::Kind::AlibiSlopes)
        checkArgUse("score", score.arg, 1, 1, DType::F32, score.loc);
    }
  }

  void checkArgUse(StringRef key, const std::string &name, size_t minRank, size_t maxRank,
                   DType dtype, SpecLoc loc) {
    const SpecArg *arg = spec.findArg(name);
    if (!arg || arg->dtype != dtype || arg->shape.size() < minRank || arg->shape.size() > maxRank)
      fault(key,
            "'" + name + "' is not an argument of the type this needs; declare it under 'args'",
            loc);
  }

  void checkArgs() {
    // Names of the tensors and sizes that every kernel has: an argument of the same name in a
    // tensor file would be ambiguous.
    static const StringRef taken[] = {"q",
                                      "k",
                                      "v",
                                      "o",
                                      "lse",
                                      "kv_lens",
                                      "cu_seqlens_q",
                                      "cu_seqlens_kv",
                                      "block_table",
                                      "sinks",
                                      "bias",
                                      "scale",
                                      "batch",
                                      "causal",
                                      "alibi",
                                      "splits"};
    if (spec.args.size() > kMaxSpecArgs)
      fault("args", "args has " + number(static_cast<int64_t>(spec.args.size())) +
                        " entries; allowed are up to " + number(kMaxSpecArgs));
    for (const SpecArg &arg : spec.args) {
      StringRef name = arg.name;
      bool good = !name.empty() && name.size() <= 64 && (isAlpha(name[0]) || name[0] == '_') &&
                  all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
      if (!good)
        fault("args",
              "argument name '" + name.take_front(64).str() +
                  "' must start with a letter and have 1 to 64 letters, digits and '_'",
              arg.loc);
      else if (is_contained(expressionReservedNames(), name) ||
               is_contained(ArrayRef<StringRef>(taken), name))
        fault("args", "argument name '" + name.str() + "' is taken by the language; choose another",
              arg.loc);
      if (count_if(spec.args, [&](const SpecArg &other) { return other.name == arg.name; }) > 1)
        fault("args", "argument name '" + name.take_front(64).str() + "' appears more than once",
              arg.loc);
      if (arg.shape.size() > kMaxArgRank)
        fault("args",
              "argument '" + name.str() + "' has rank " +
                  number(static_cast<int64_t>(arg.shape.size())) + "; allowed are 1 to " +
                  number(kMaxArgRank),
              arg.loc);
      if (!arg.isTensor() && arg.dtype != DType::F32 && arg.dtype != DType::I32)
        fault("args",
              "argument '" + name.str() + "' is a scalar of type " + dtypeName(arg.dtype) +
                  "; scalars are f32 or i32, tensors may be f16, bf16, f32, i32 or bool",
              arg.loc);
      for (int64_t extent : arg.shape)
        if (extent != -1 && (extent < 1 || extent > INT32_MAX))
          fault("args",
                "argument '" + name.str() + "' has the extent " + number(extent) +
                    "; allowed are 1 to 2147483647, or ? for any",
                arg.loc);
    }
  }

  const Spec &spec;
  std::vector<SpecFault> faults;
};

} // namespace

std::vector<SpecFault> verifySpec(const Spec &spec) { return Verifier(spec).run(); }

} // namespace attnc
