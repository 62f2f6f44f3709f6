// Lengths and page tables against the tensors they index. A kernel trusts them; on the host they lie in
// memory that can be looked at before it runs.
#ifndef ATTNC_LIB_HOST_LENGTHCHECK_H
#define ATTNC_LIB_HOST_LENGTHCHECK_H

#include "attnc/Support/HostTensor.h"

#include <map>
#include <string>

namespace attnc {

/// Checks `kv_lens`, `block_table`, `cu_seqlens_q` and `cu_seqlens_kv`, those that are there, against
/// `q`, `k` and `v`. \returns what is found and allowed; empty when every read stays inside. Dense
/// `kv_lens` are no matter: kernels keep them inside the tensor.
std::string checkLengths(const std::map<std::string, HostTensor> &tensors);

} // namespace attnc

#endif // ATTNC_LIB_HOST_LENGTHCHECK_H
