// Inputs as a function of (seed, tensor, index), the same bits on the CPU, on the GPU and in the
// Python peers, so that no tensor has to travel between processes; and the fp64 truth on the CPU,
// which the GPU's reference kernel is checked against.
//
//   h = mix(lo32(i) ^ mix(hi32(i) + seed * 0x9e3779b9 + tensor * 0x85ebca77)), mod 2^32
//   value = float(sum of the 4 bytes of h - 510) * 0.006765899f, rounded to the dtype
//
// The sum of four bytes is close to normal; the factor makes its deviation 1. Indices count
// [B, H, S, D] in that order whatever the memory layout.
#ifndef ATTNC_BENCH_INPUTS_H
#define ATTNC_BENCH_INPUTS_H

#include "Config.h"

#include <cstdint>
#include <vector>

namespace attnc::bench {

enum class InputTensor : std::uint32_t { Q = 0, K = 1, V = 2 };

/// Before rounding to a dtype.
float inputValue(std::uint32_t seed, InputTensor tensor, std::uint64_t index);

/// To the nearest value of "bf16", "fp16" or "fp32", ties to even.
float roundToDtype(float value, const std::string &dtype);

/// Bits of a rounded value in a 16-bit dtype.
std::uint16_t halfBits(float value, const std::string &dtype);

/// O of the configuration in fp64, [B, Hq, Sq, D], on inputs of \p seed. For small shapes.
std::vector<double> cpuAttention(const Config &config, std::uint32_t seed);

} // namespace attnc::bench

#endif // ATTNC_BENCH_INPUTS_H
