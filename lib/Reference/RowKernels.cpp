// Inner loops of the reference, compiled twice on x86: for the baseline and for AVX2 with FMA.
#include "RowKernels.h"

#include <cstring>

using namespace attnc;

#define ATTNC_INLINE inline __attribute__((always_inline))

template <typename T>
static ATTNC_INLINE void dotLoop(const float *q, const float *k, int64_t dim, const int64_t *keys,
                                 int64_t count, T *out) {
  for (int64_t i = 0; i < count; ++i) {
    const float *row = k + keys[i] * dim;
    T lanes[8] = {};
    int64_t d = 0;
    for (; d + 8 <= dim; d += 8)
      for (int u = 0; u < 8; ++u)
        lanes[u] += static_cast<T>(q[d + u]) * static_cast<T>(row[d + u]);
    for (; d < dim; ++d)
      lanes[d % 8] += static_cast<T>(q[d]) * static_cast<T>(row[d]);
    out[i] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
             ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  }
}

template <typename T>
static ATTNC_INLINE void addLoop(const T *p, const float *v, int64_t dim, const int64_t *keys,
                                 int64_t count, T *acc) {
  for (int64_t i = 0; i < count; ++i) {
    const float *row = v + keys[i] * dim;
    T weight = p[i];
    for (int64_t d = 0; d < dim; ++d)
      acc[d] += weight * static_cast<T>(row[d]);
  }
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx2,fma"))) static void
dotAvx2(const float *q, const float *k, int64_t dim, const int64_t *keys, int64_t count, T *out) {
  dotLoop(q, k, dim, keys, count, out);
}
template <typename T>
__attribute__((target("avx2,fma"))) static void
addAvx2(const T *p, const float *v, int64_t dim, const int64_t *keys, int64_t count, T *acc) {
  addLoop(p, v, dim, keys, count, acc);
}
static bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

template <typename T>
static void dot(const float *q, const float *k, int64_t dim, const std::vector<int64_t> &keys,
                T *out) {
#if defined(__x86_64__)
  if (hasAvx2())
    return dotAvx2(q, k, dim, keys.data(), keys.size(), out);
#endif
  dotLoop(q, k, dim, keys.data(), keys.size(), out);
}

template <typename T>
static void add(const T *p, const float *v, int64_t dim, const std::vector<int64_t> &keys, T *acc) {
#if defined(__x86_64__)
  if (hasAvx2())
    return addAvx2(p, v, dim, keys.data(), keys.size(), acc);
#endif
  addLoop(p, v, dim, keys.data(), keys.size(), acc);
}

void reference::dotKeys(const float *q, const float *k, int64_t dim,
                        const std::vector<int64_t> &keys, double *out) {
  dot(q, k, dim, keys, out);
}
void reference::dotKeys(const float *q, const float *k, int64_t dim,
                        const std::vector<int64_t> &keys, float *out) {
  dot(q, k, dim, keys, out);
}
void reference::addValues(const double *p, const float *v, int64_t dim,
                          const std::vector<int64_t> &keys, double *acc) {
  add(p, v, dim, keys, acc);
}
void reference::addValues(const float *p, const float *v, int64_t dim,
                          const std::vector<int64_t> &keys, float *acc) {
  add(p, v, dim, keys, acc);
}

float reference::roundProbability(float p, DType dtype) {
  if (dtype == DType::F32)
    return p;
  uint32_t bits;
  std::memcpy(&bits, &p, sizeof(bits));
  unsigned dropped = dtype == DType::BF16 ? 16 : 13;
  if (dtype == DType::F16 && p < 6.103515625e-05f) {
    // Subnormal in f16: an ulp of 0.75 in f32 is the subnormals' unit, 2^−24.
    volatile float shifted = p + 0.75f;
    return shifted - 0.75f;
  }
  if (dtype != DType::BF16 && dtype != DType::F16) {
    uint8_t stored[8];
    storeElement(stored, dtype, p);
    return static_cast<float>(loadElement(stored, dtype));
  }
  uint32_t odd = bits >> dropped & 1;
  bits += (1u << (dropped - 1)) - 1 + odd;
  bits &= ~((1u << dropped) - 1);
  std::memcpy(&p, &bits, sizeof(p));
  return p;
}
