// The meaning of named masks and scores in the expression language.
#include "SpecVariants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace attnc {

std::string maskText(const SpecMask &mask) {
  switch (mask.kind) {
  case SpecMask::Kind::Causal:
    return "q_pos >= kv_pos";
  case SpecMask::Kind::CausalTopLeft:
    return "q_idx >= kv_pos";
  case SpecMask::Kind::Window: {
    std::string left = "q_pos - kv_pos <= " + std::to_string(mask.left);
    std::string right =
        mask.right == 0 ? "q_pos >= kv_pos" : "kv_pos - q_pos <= " + std::to_string(mask.right);
    if (mask.right < 0)
      return left;
    return mask.left < 0 ? right : left + " and " + right;
  }
  case SpecMask::Kind::PrefixLm:
    return "q_pos >= kv_pos or kv_pos < " + mask.arg;
  case SpecMask::Kind::Document:
    // A query before the first key (len_q > len_kv) has no document, and must not index at −1.
    return "q_pos >= 0 and " + mask.arg + "[b, max(q_pos, 0)] == " + mask.arg + "[b, kv_pos]";
  case SpecMask::Kind::Expression:
    return mask.expression ? mask.expression->text : std::string();
  case SpecMask::Kind::Opaque:
    break;
  }
  return "";
}

std::string scoreText(const SpecScore &score, int64_t headsQ) {
  switch (score.kind) {
  case SpecScore::Kind::Softcap: {
    std::string cap = floatText(score.cap);
    return cap + " * tanh(s / " + cap + ")";
  }
  case SpecScore::Kind::Alibi: {
    // As the paper: powers of 2^(−8/n) for the first n = 2^k heads, odd powers of 2^(−4/n) beyond.
    auto n = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(headsQ)));
    std::string first = "exp2((h + 1) * " + floatText(-8.0 / static_cast<double>(n)) + ")";
    std::string slope = first;
    if (n != headsQ)
      slope = "(" + first + " if h < " + std::to_string(n) + " else exp2((2 * (h - " +
              std::to_string(n) + ") + 1) * " + floatText(-4.0 / static_cast<double>(n)) + "))";
    return "s - " + slope + " * (q_pos - kv_pos)";
  }
  case SpecScore::Kind::AlibiSlopes:
    return "s - " + score.arg + "[h] * (q_pos - kv_pos)";
  case SpecScore::Kind::Expression:
    return score.expression ? score.expression->text : std::string();
  case SpecScore::Kind::Opaque:
    break;
  }
  return "";
}

static std::shared_ptr<const Expression> parseMeaning(const std::string &text, ExprRole role,
                                                      SpecLoc loc, const Spec &spec) {
  return parseExpression(
      text, role, spec.args, [&](size_t) { return loc; }, [](size_t, const std::string &) {});
}

std::shared_ptr<const Expression> maskExpression(const SpecMask &mask, const Spec &spec) {
  if (mask.kind == SpecMask::Kind::Expression)
    return mask.expression;
  std::string text = maskText(mask);
  if (mask.kind == SpecMask::Kind::PrefixLm) {
    const SpecArg *arg = spec.findArg(mask.arg);
    if (arg && arg->isTensor())
      text += "[b]";
  }
  return parseMeaning(text, ExprRole::Mask, mask.loc, spec);
}

std::shared_ptr<const Expression> scoreExpression(const SpecScore &score, const Spec &spec) {
  if (score.kind == SpecScore::Kind::Expression)
    return score.expression;
  return parseMeaning(scoreText(score, spec.headsQ), ExprRole::Score, score.loc, spec);
}

bool hasAttribute(const SpecMask &mask) {
  return mask.kind == SpecMask::Kind::Causal || mask.kind == SpecMask::Kind::CausalTopLeft ||
         mask.kind == SpecMask::Kind::Window;
}

bool hasAttribute(const SpecScore &score) {
  return score.kind == SpecScore::Kind::Softcap || score.kind == SpecScore::Kind::Alibi;
}

} // namespace attnc
