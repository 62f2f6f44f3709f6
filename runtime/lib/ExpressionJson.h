// The JSON form of expressions, for readers that hold parsed JSON already.
#ifndef ATTNC_RUNTIME_LIB_EXPRESSIONJSON_H
#define ATTNC_RUNTIME_LIB_EXPRESSIONJSON_H

#include "JsonText.h"
#include "attnc/Runtime/Expression.h"

namespace attnc::rt {

/// Builds an expression from parsed JSON. \returns InvalidArgument.
Result<Expression> expressionFromJson(const Json &json);

/// The JSON form.
Json expressionToJson(const Expression &expression);

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_LIB_EXPRESSIONJSON_H
