// Tokens of the expression language. Internal to the parser.
#ifndef ATTNC_LIB_SPEC_EXPRESSIONLEXER_H
#define ATTNC_LIB_SPEC_EXPRESSIONLEXER_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace attnc {

enum class TokenKind {
  End,
  Error,
  Name,
  Int,
  Float,
  LParen,
  RParen,
  LBracket,
  RBracket,
  Comma,
  Plus,
  Minus,
  Star,
  Slash,
  SlashSlash,
  Percent,
  Lt,
  Le,
  Gt,
  Ge,
  EqEq,
  NotEq
};

/// A token is a piece of the text; `offset` is where it starts.
struct Token {
  TokenKind kind = TokenKind::End;
  llvm::StringRef text;
  size_t offset = 0;
};

/// Splits text into tokens. After an Error token `message` says what was wrong and what to write.
class ExpressionLexer {
public:
  explicit ExpressionLexer(llvm::StringRef text) : text(text) {}
  Token next();
  const std::string &getMessage() const { return message; }

private:
  Token number();
  Token fail(size_t length, const std::string &why);
  Token take(TokenKind kind, size_t length);

  llvm::StringRef text;
  size_t position = 0;
  std::string message;
};

} // namespace attnc

#endif // ATTNC_LIB_SPEC_EXPRESSIONLEXER_H
