// The machine without a GPU: attnc's host target is timed through the attnc executable, everything
// else is refused with the reason.
#ifndef ATTNC_BENCH_HOSTMACHINE_H
#define ATTNC_BENCH_HOSTMACHINE_H

#include "Implementation.h"

namespace attnc::bench {

std::unique_ptr<Machine> makeHostMachine();

/// `attnc run --target host`: each sample is one run of it, timed inside it. \p compiler empty:
/// refused. \p config: fields to force, as attnc's --config takes them.
std::unique_ptr<Implementation> makeHostImplementation(std::string id, std::string regime,
                                                       std::string compiler,
                                                       std::string workDirectory,
                                                       std::string config);

/// An implementation that is always refused.
std::unique_ptr<Implementation> makeUnavailable(std::string id, std::string regime,
                                                Refusal refusal);

} // namespace attnc::bench

#endif // ATTNC_BENCH_HOSTMACHINE_H
