// Splits an expression into tokens, with advice for the spellings of other languages.
#include "ExpressionLexer.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attnc {

Token ExpressionLexer::take(TokenKind kind, size_t length) {
  Token token{kind, text.substr(position, length), position};
  position += length;
  return token;
}

Token ExpressionLexer::fail(size_t length, const std::string &why) {
  message = why;
  return take(TokenKind::Error, length);
}

Token ExpressionLexer::number() {
  size_t end = position;
  bool isFloat = false;
  auto digits = [&] {
    size_t start = end;
    while (end < text.size() && isDigit(text[end]))
      ++end;
    return end > start;
  };
  bool whole = digits();
  if (end < text.size() && text[end] == '.') {
    isFloat = true;
    ++end;
    if (!digits() && !whole)
      return fail(end - position, "found '.' without digits; write a number such as 0.5");
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    isFloat = true;
    ++end;
    if (end < text.size() && (text[end] == '+' || text[end] == '-'))
      ++end;
    if (!digits())
      return fail(end - position, "found an exponent without digits; write it as 1e-3");
  }
  if (end < text.size() && (isAlnum(text[end]) || text[end] == '_'))
    return fail(
        end - position + 1,
        "found a letter after a number; write a product with '*' and numbers as 1, 0.5 or 1e-3");
  return take(isFloat ? TokenKind::Float : TokenKind::Int, end - position);
}

Token ExpressionLexer::next() {
  while (position < text.size() && (text[position] == ' ' || text[position] == '\n'))
    ++position;
  if (position >= text.size())
    return Token{TokenKind::End, StringRef(), text.size()};
  StringRef rest = text.substr(position);
  char c = rest.front();
  if (isAlpha(c) || c == '_') {
    size_t length = 1;
    while (length < rest.size() && (isAlnum(rest[length]) || rest[length] == '_'))
      ++length;
    return take(TokenKind::Name, length);
  }
  if (isDigit(c) || c == '.')
    return number();

  static const struct {
    const char *spelling;
    TokenKind kind;
    const char *advice; // for spellings of other languages
  } table[] = {
      {"**", TokenKind::Error, "'**' is not an operator; write a product, or exp2(b * log2(a))"},
      {"//", TokenKind::SlashSlash, nullptr},
      {"<=", TokenKind::Le, nullptr},
      {">=", TokenKind::Ge, nullptr},
      {"==", TokenKind::EqEq, nullptr},
      {"!=", TokenKind::NotEq, nullptr},
      {"&", TokenKind::Error, "'&' is not an operator; write 'and'"},
      {"|", TokenKind::Error, "'|' is not an operator; write 'or'"},
      {"!", TokenKind::Error, "'!' is not an operator; write 'not'"},
      {"=", TokenKind::Error, "'=' is not an operator; compare with '=='"},
      {"?", TokenKind::Error, "'?' is not an operator; write 'x if c else y'"},
      {"(", TokenKind::LParen, nullptr},
      {")", TokenKind::RParen, nullptr},
      {"[", TokenKind::LBracket, nullptr},
      {"]", TokenKind::RBracket, nullptr},
      {",", TokenKind::Comma, nullptr},
      {"+", TokenKind::Plus, nullptr},
      {"-", TokenKind::Minus, nullptr},
      {"*", TokenKind::Star, nullptr},
      {"/", TokenKind::Slash, nullptr},
      {"%", TokenKind::Percent, nullptr},
      {"<", TokenKind::Lt, nullptr},
      {">", TokenKind::Gt, nullptr}};
  for (const auto &entry : table) {
    if (!rest.starts_with(entry.spelling))
      continue;
    size_t length = StringRef(entry.spelling).size();
    return entry.advice ? fail(length, entry.advice) : take(entry.kind, length);
  }
  std::string shown = isPrint(c) ? std::string(1, c) : "byte 0x" + utohexstr(uint8_t(c));
  return fail(1, "found '" + shown + "', which no expression contains");
}

} // namespace attnc
