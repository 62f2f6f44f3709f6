// What named masks and scores mean, as expressions. One place for the meaning: the exporter emits
// these where a name has no attribute or stands beside an expression, the importer recognises them.
#ifndef ATTNC_LIB_SPEC_SPECVARIANTS_H
#define ATTNC_LIB_SPEC_SPECVARIANTS_H

#include "attnc/Spec/Expression.h"

namespace attnc {

/// Expression text of a mask that is not Opaque.
std::string maskText(const SpecMask &mask);
/// Expression text of a score that is not Opaque; `headsQ` decides the ALiBi slopes.
std::string scoreText(const SpecScore &score, int64_t headsQ);

/// The parsed form of the above: the part's own expression, or that of its meaning, with every node
/// at the part's place.
std::shared_ptr<const Expression> maskExpression(const SpecMask &mask, const Spec &spec);
std::shared_ptr<const Expression> scoreExpression(const SpecScore &score, const Spec &spec);

/// Whether the dialect has an attribute for it.
bool hasAttribute(const SpecMask &mask);
bool hasAttribute(const SpecScore &score);

/// Shortest text that reads back as the same f32.
std::string floatText(double value);

} // namespace attnc

#endif // ATTNC_LIB_SPEC_SPECVARIANTS_H
