// The tolerance rule of the semantics contract.
#include "attnc/Reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

using namespace attnc;

/// Distance between neighbouring values of a type at a magnitude.
static double unitInLastPlace(DType dtype, double magnitude) {
  int mantissa = 0, leastExponent = 0;
  switch (dtype) {
  case DType::F16:
    mantissa = 10, leastExponent = -14;
    break;
  case DType::BF16:
    mantissa = 7, leastExponent = -126;
    break;
  case DType::F8E4M3:
    mantissa = 3, leastExponent = -6;
    break;
  case DType::F8E5M2:
    mantissa = 2, leastExponent = -14;
    break;
  case DType::F32:
    mantissa = 23, leastExponent = -126;
    break;
  case DType::F64:
    mantissa = 52, leastExponent = -1022;
    break;
  default:
    return 0;
  }
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : leastExponent;
  return std::ldexp(1.0, std::max(exponent, leastExponent) - mantissa);
}

static std::string indexText(const std::vector<int64_t> &index) {
  std::string text = "[";
  for (size_t d = 0; d < index.size(); ++d)
    text += (d ? ", " : "") + std::to_string(index[d]);
  return text + "]";
}

namespace {
/// Runs over rows: the last dimension of a rank-4 output, single elements of an LSE.
class Comparer {
public:
  Comparer(const HostTensor &out, const HostTensor &reference, const HostTensor &plain)
      : out(out), reference(reference), plain(plain), isLse(reference.rank() == 3) {}

  Comparison run() {
    if (out.shape != reference.shape || plain.shape != reference.shape) {
      comparison.message = "the output's shape is not the reference's";
      return comparison;
    }
    // The plain implementation's largest error is needed before any element can be judged.
    forEachRow([&](const std::vector<int64_t> &row) { measurePlain(row); });
    forEachRow([&](const std::vector<int64_t> &row) { compareRow(row); });
    comparison.errorRatio = plainError > 0           ? comparison.maxAbs / plainError
                            : comparison.maxAbs == 0 ? 0
                                                     : INFINITY;
    comparison.ok = comparison.mismatches == 0;
    return comparison;
  }

private:
  int64_t rowLength() const { return isLse ? 1 : reference.shape.back(); }

  void forEachRow(const std::function<void(const std::vector<int64_t> &)> &visit) {
    if (reference.numElements() == 0)
      return;
    std::vector<int64_t> index(reference.rank());
    size_t outer = isLse ? index.size() : index.size() - 1;
    for (;;) {
      visit(index);
      size_t d = outer;
      while (d > 0 && ++index[d - 1] == reference.shape[d - 1])
        index[--d] = 0;
      if (d == 0)
        return;
    }
  }

  void measurePlain(std::vector<int64_t> index) {
    for (int64_t i = 0; i < rowLength(); ++i) {
      if (!isLse)
        index.back() = i;
      double error = std::fabs(plain.get(index) - reference.get(index));
      if (std::isfinite(error))
        plainError = std::max(plainError, error);
    }
  }

  void fail(const std::vector<int64_t> &index, double value, double expected, double limit) {
    if (comparison.mismatches++ > 0)
      return;
    char text[256];
    std::snprintf(text, sizeof(text),
                  "first mismatch at %s: got %.9g, expected %.9g, allowed error %.3g (twice the "
                  "plain implementation's %.3g, and %s in the last place)",
                  indexText(index).c_str(), value, expected, limit, plainError,
                  isLse ? "eight units" : "one unit");
    comparison.message = text;
  }

  void compareRow(std::vector<int64_t> index) {
    double magnitude = 0, dot = 0, outNorm = 0, referenceNorm = 0;
    for (int64_t i = 0; i < rowLength(); ++i) {
      if (!isLse)
        index.back() = i;
      double value = std::fabs(reference.get(index));
      if (std::isfinite(value))
        magnitude = std::max(magnitude, value);
    }
    // An LSE is a sum of a logit and a logarithm: rounding acts at their size, at least 1. Matrix
    // units truncate where the plain implementation rounds, which shows in a logit's last places.
    double unit = isLse ? kLseUnits * unitInLastPlace(out.dtype, std::max(magnitude, 1.0))
                        : unitInLastPlace(out.dtype, magnitude);
    bool isEmpty = !isLse && magnitude == 0;
    for (int64_t i = 0; i < rowLength(); ++i) {
      if (!isLse)
        index.back() = i;
      double value = out.get(index), expected = reference.get(index);
      if (std::isnan(expected)) {
        ++comparison.notCompared;
        continue;
      }
      // A value past the output type's range may come out as infinity.
      uint8_t stored[8];
      storeElement(stored, out.dtype, expected);
      double rounded = loadElement(stored, out.dtype);
      if (!std::isfinite(value) && std::isfinite(rounded))
        ++comparison.nonFinite;
      if (std::isinf(rounded) || isEmpty) {
        if (value != rounded)
          fail(index, value, expected, 0);
        continue;
      }
      double error = std::fabs(value - expected), limit = 2 * plainError + unit;
      if (!(error <= limit))
        fail(index, value, expected, limit);
      if (!std::isfinite(error))
        continue;
      comparison.maxAbs = std::max(comparison.maxAbs, error);
      if (expected != 0)
        comparison.maxRel = std::max(comparison.maxRel, error / std::fabs(expected));
      dot += value * expected;
      outNorm += value * value;
      referenceNorm += expected * expected;
    }
    if (!isLse && outNorm > 0 && referenceNorm > 0)
      comparison.minCosine =
          std::min(comparison.minCosine, dot / std::sqrt(outNorm * referenceNorm));
  }

  const HostTensor &out, &reference, &plain;
  bool isLse;
  double plainError = 0;
  Comparison comparison;
};
} // namespace

Comparison attnc::compareWithReference(const HostTensor &out, const HostTensor &reference,
                                       const HostTensor &plain) {
  return Comparer(out, reference, plain).run();
}
