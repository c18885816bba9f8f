#pragma once
// The part of the CUDA language that the kernels use, for a C++ compiler: the words nvcc knows by
// itself, meaning what scheduler.h does.
#include <cmath>
#include <cstring>

#include "engine/backends/cuda/simulated/scheduler.h"

#define __global__
#define __device__
#define __host__
#define threadIdx (::skep::simulated::place().thread)
#define blockIdx (::skep::simulated::place().block)
#define blockDim (::skep::simulated::place().block_size)
#define gridDim (::skep::simulated::place().grid_size)

inline void __syncthreads() { skep::simulated::meet_block(); }

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  skep::simulated::meet(mask, skep::simulated::Collective::sync, 0);
}

namespace skep::simulated {

/// body(context) for every thread, with the GPU's memory open.
void run_kernel(const Kernel& kernel, std::int64_t blocks, int threads, void (*body)(void*),
                void* context);

template <class T>
T exchange(unsigned mask, Collective operation, T value, int from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = meet(mask, operation, bits).of(from);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace skep::simulated

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  namespace gpu = skep::simulated;
  return gpu::exchange(mask, gpu::Collective::shuffle_xor, value, gpu::lane() ^ lanes);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from) {
  namespace gpu = skep::simulated;
  return gpu::exchange(mask, gpu::Collective::shuffle, value, from);
}
