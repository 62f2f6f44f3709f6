// Puts a compiled target into the runtime's package form.
#ifndef ATTNC_TOOLS_PACKAGEBUILDER_H
#define ATTNC_TOOLS_PACKAGEBUILDER_H

#include "CompileTarget.h"

#include "attnc/Runtime/Package.h"
#include "attnc/Spec/Spec.h"

namespace attnc::cli {

/// The package of one target. \returns Internal when the kernels cannot be described (our bug).
rt::Result<rt::Package> buildPackage(const Spec &spec, const TargetInfo &target,
                                     const TargetResult &result);

/// The runtime's name of a dtype.
rt::DataType runtimeDType(DType dtype);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_PACKAGEBUILDER_H
