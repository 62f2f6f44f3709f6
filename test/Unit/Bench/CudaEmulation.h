// Runs the bench's CUDA C++ kernels on the CPU: one block at a time, each thread a fiber, switched
// at barriers and warp exchanges. Enough of CUDA for baselines/*.cu.inc, mma.sync and ldmatrix by
// their layouts in the PTX ISA included; no timing, no memory model, no races found.
#ifndef ATTNC_TEST_UNIT_BENCH_CUDAEMULATION_H
#define ATTNC_TEST_UNIT_BENCH_CUDAEMULATION_H

#include "Inputs.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace emulation {

struct Index {
  unsigned x = 0;
};
inline Index threadIdx, blockIdx, blockDim, gridDim;

/// The block that runs; fibers are its threads.
struct Block {
  struct Barrier {
    unsigned arrived = 0, generation = 0;
  };
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done = false;
  };
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  unsigned current = 0;
  Barrier all;
  std::vector<Barrier> warps;
  /// One slot a thread for exchanges within its warp.
  std::vector<std::array<std::uint64_t, 8>> slots;
  const std::function<void()> *body = nullptr;

  void yield() {
    swapcontext(&fibers[current].context, &scheduler);
    threadIdx.x = current;
  }
  void wait(Barrier &b, unsigned size) {
    const unsigned mine = b.generation;
    if (++b.arrived == size) {
      b.arrived = 0;
      ++b.generation;
    }
    while (b.generation == mine)
      yield();
  }
  void warpWait() { wait(warps[current / 32], 32); }
};
inline Block *block = nullptr;

inline void fiberMain() {
  (*block->body)();
  block->fibers[block->current].done = true;
  swapcontext(&block->fibers[block->current].context, &block->scheduler);
}

/// Runs \p body for every thread of \p grid blocks of \p size threads (a multiple of 32).
inline void launch(unsigned grid, unsigned size, const std::function<void()> &body) {
  blockDim.x = size;
  gridDim.x = grid;
  for (unsigned b = 0; b < grid; ++b) {
    Block state;
    state.fibers.resize(size);
    state.warps.resize(size / 32);
    state.slots.resize(size);
    state.body = &body;
    block = &state;
    blockIdx.x = b;
    for (Block::Fiber &f : state.fibers) {
      constexpr std::size_t stackBytes = 128 << 10;
      f.stack = std::make_unique<char[]>(stackBytes);
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.get();
      f.context.uc_stack.ss_size = stackBytes;
      f.context.uc_link = nullptr;
      makecontext(&f.context, fiberMain, 0);
    }
    for (bool busy = true; busy;) {
      busy = false;
      for (unsigned t = 0; t < size; ++t) {
        if (state.fibers[t].done)
          continue;
        busy = true;
        state.current = t;
        threadIdx.x = t;
        swapcontext(&state.scheduler, &state.fibers[t].context);
      }
    }
  }
}

inline void __syncthreads() { block->wait(block->all, blockDim.x); }

template <typename T> T __shfl_xor_sync(unsigned, T value, int mask) {
  const unsigned me = block->current;
  std::memcpy(block->slots[me].data(), &value, sizeof value);
  block->warpWait();
  std::memcpy(&value, block->slots[me ^ unsigned(mask)].data(), sizeof value);
  block->warpWait();
  return value;
}

inline float __uint_as_float(std::uint32_t x) {
  float f;
  std::memcpy(&f, &x, 4);
  return f;
}
inline float __int_as_float(std::int32_t x) { return __uint_as_float(std::uint32_t(x)); }
inline std::uint32_t __float_as_uint(float f) {
  std::uint32_t x;
  std::memcpy(&x, &f, 4);
  return x;
}
inline void atomicAdd(unsigned long long *p, unsigned long long x) { *p += x; }
struct uint4 {
  std::uint32_t x, y, z, w;
};

// 16-bit floats by the bench's own rounding, which InputsTest checks.
inline float wide(std::uint16_t x, bool bf16) {
  if (bf16)
    return __uint_as_float(std::uint32_t(x) << 16);
  const int exponent = x >> 10 & 31;
  const double m = x & 1023;
  const double v = exponent ? std::ldexp(1024 + m, exponent - 25) : std::ldexp(m, -24);
  return float(x & 0x8000 ? -v : v);
}
inline std::uint16_t narrowTo(float f, bool bf16) {
  return attnc::bench::halfBits(f, bf16 ? "bf16" : "fp16");
}
inline float fromFp16(std::uint16_t x) { return wide(x, false); }
inline std::uint16_t toFp16(float f) { return narrowTo(f, false); }

/// mma.sync.m16n8k16, f32 accumulation (PTX ISA, "Matrix fragments for mma.m16n8k16").
inline void mma16816(float *c, const std::uint32_t *a, std::uint32_t b0, std::uint32_t b1,
                     bool bf16) {
  const unsigned me = block->current, base = me / 32 * 32, lane = me % 32;
  auto &slot = block->slots[me];
  for (int i = 0; i < 4; ++i)
    slot[std::size_t(i)] = a[i];
  slot[4] = b0;
  slot[5] = b1;
  block->warpWait();
  const auto half = [&](unsigned owner, int reg, unsigned k) {
    const auto word = std::uint32_t(block->slots[base + owner][std::size_t(reg)]);
    return wide(std::uint16_t(k % 2 ? word >> 16 : word), bf16);
  };
  for (int i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + (i / 2) * 8, column = lane % 4 * 2 + unsigned(i % 2);
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k) {
      const float x = half(row % 8 * 4 + k % 8 / 2, int(row / 8 + k / 8 * 2), k);
      const float y = half(column * 4 + k % 8 / 2, int(4 + k / 8), k);
      sum += x * y;
    }
    c[i] += sum;
  }
  block->warpWait();
}

/// ldmatrix.x4, plain or transposed; lane l gives the address of row l % 8 of matrix l / 8.
inline void ldmatrix4(std::uint32_t *r, std::uint64_t address, bool transpose) {
  const unsigned me = block->current, base = me / 32 * 32, lane = me % 32;
  block->slots[me][0] = address;
  block->warpWait();
  for (unsigned i = 0; i < 4; ++i) {
    const auto element = [&](unsigned row, unsigned column) {
      const auto *p = reinterpret_cast<const std::uint16_t *>(block->slots[base + i * 8 + row][0]);
      return std::uint32_t(p[column]);
    };
    const unsigned a = lane / 4, b = lane % 4 * 2;
    r[i] = transpose ? element(b, a) | element(b + 1, a) << 16
                     : element(a, b) | element(a, b + 1) << 16;
  }
  block->warpWait();
}

} // namespace emulation

#endif // ATTNC_TEST_UNIT_BENCH_CUDAEMULATION_H
