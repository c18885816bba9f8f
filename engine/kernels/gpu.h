#pragma once
// Who reads GPU code: nvcc, for a GPU, or the C++ compiler, for the simulated one (then the words
// of CUDA come from the simulation). SKEP_GPU is set where either does.
#include <cstdint>

#ifdef __CUDACC__
#define SKEP_GPU
#include "engine/backends/cuda/stream.h"
#elif defined(SKEP_SIMULATED_GPU)
#define SKEP_GPU
#include "engine/backends/cuda/simulated/language.h"
#endif

#ifdef SKEP_GPU
namespace skep {

/// The only way kernels start: so many blocks of so many threads, after what was started before.
#ifdef __CUDACC__
template <class Kernel, class... Args>
void launch(Kernel kernel, std::int64_t blocks, int threads, Args... args) {
  if (blocks == 0) return;
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, compute_stream()>>>(
      args...);
  check_launch();
}
#else
template <class Kernel, class... Args>
void launch(Kernel kernel, std::int64_t blocks, int threads, Args... args) {
  if (blocks == 0) return;
  auto body = [&] { kernel(args...); };
  const auto call = [](void* b) { (*static_cast<decltype(body)*>(b))(); };
  const simulated::Kernel which{reinterpret_cast<const void*>(kernel), __PRETTY_FUNCTION__};
  simulated::run_kernel(which, blocks, threads, call, &body);
}
#endif

}  // namespace skep
#endif
