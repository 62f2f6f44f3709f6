// The inner loops of the reference over keys, in f64 and f32. Plain loops; the only liberty is that
// sums run in eight lanes, as any vectorised implementation's do.
#ifndef ATTNC_LIB_REFERENCE_ROWKERNELS_H
#define ATTNC_LIB_REFERENCE_ROWKERNELS_H

#include "attnc/Support/HostTensor.h"

#include <cstdint>
#include <vector>

namespace attnc::reference {

/// out[i] = Σ_d q[d] · k[keys[i] · dim + d].
void dotKeys(const float *q, const float *k, int64_t dim, const std::vector<int64_t> &keys,
             double *out);
void dotKeys(const float *q, const float *k, int64_t dim, const std::vector<int64_t> &keys,
             float *out);

/// acc[d] += Σ_i p[i] · v[keys[i] · dim + d].
void addValues(const double *p, const float *v, int64_t dim, const std::vector<int64_t> &keys,
               double *acc);
void addValues(const float *p, const float *v, int64_t dim, const std::vector<int64_t> &keys,
               float *acc);

/// p in [0, 1], rounded to nearest even in the type in which P meets V; what storeElement gives, in
/// a few instructions for the types that matter.
float roundProbability(float p, DType dtype);

} // namespace attnc::reference

#endif // ATTNC_LIB_REFERENCE_ROWKERNELS_H
