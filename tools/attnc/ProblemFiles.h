// Problems from and to safetensors files. Tensors are in memory order there: q, k, v, o of a bshd spec
// are [B, S, H, D], packed ones [T, H, D], pools [pages, page, H, D].
#ifndef ATTNC_TOOLS_PROBLEMFILES_H
#define ATTNC_TOOLS_PROBLEMFILES_H

#include "ProblemData.h"

namespace attnc::cli {

/// Reads every tensor the spec needs and derives the shape. Scalars come from tensors of one element
/// called arg.NAME, or from `args`. Errors are printed. \returns an exit code.
int readProblem(const std::string &path, const Spec &spec,
                const std::map<std::string, double> &args, Problem &problem);

/// Writes outputs by name. Errors are printed. \returns an exit code.
int writeOutputs(const std::string &path, const Spec &spec,
                 const std::map<std::string, HostTensor> &outputs);

} // namespace attnc::cli

#endif // ATTNC_TOOLS_PROBLEMFILES_H
