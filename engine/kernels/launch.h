#pragma once
// elementwise(): applies one functor to every element of its operands. g++ turns it into a
// vectorised loop, nvcc also into a GPU kernel (and the simulated GPU into a kernel on the host); a
// functor is written once and never knows.
#include <utility>

#include "engine/kernels/gpu.h"
#include "engine/kernels/loop_nest.h"

namespace skep {

/// What happens to the old content of a destination.
enum class Write { overwrite, accumulate };

/// Where a result goes, and how.
struct Destination {
  Tensor tensor;
  Write write = Write::overwrite;
};

namespace detail {

template <class F, class T, std::size_t... K>
HD inline Compute<T> evaluate(const F& f, T* const* base, const std::int64_t* at,
                              std::index_sequence<K...>) {
  return f(static_cast<Compute<T>>(base[K + 1][at[K + 1]])...);
}

template <class T>
HD inline void store(T& out, Compute<T> value, Write write) {
  out = static_cast<T>(write == Write::accumulate ? static_cast<Compute<T>>(out) + value : value);
}

#ifdef SKEP_GPU
template <class F, class T, std::size_t N>
struct Operands {
  T* base[N];
};

template <class F, class T, std::size_t N>
__global__ void elementwise_kernel(LoopNest<N> nest, Operands<F, T, N> operands, F f, Write write,
                                   std::int64_t n) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  std::int64_t at[N] = {}, rest = i;
  for (int d = nest.rank - 1; d >= 0; --d) {
    for (std::size_t k = 0; k < N; ++k) at[k] += rest % nest.size[d] * nest.stride[k][d];
    rest /= nest.size[d];
  }
  store(operands.base[0][at[0]], evaluate(f, operands.base, at, std::make_index_sequence<N - 1>{}),
        write);
}
#endif

// One innermost loop on the CPU. ivdep: an output that is also an input is read before it is
// written, element by element; operands that overlap in any other way are not allowed.
template <Write write, class F, class T, std::size_t N, std::size_t... K>
void inner_loop(const LoopNest<N>& nest, const std::array<std::int64_t, N>& offset, T* const* base,
                const F& f, std::index_sequence<K...>) {
  const std::int64_t n = nest.size[nest.rank - 1];
  T* out = base[0] + offset[0];
  const std::array<const T*, N> in = {out, base[K + 1] + offset[K + 1]...};
  if (nest.inner_is_dense()) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i)
      store(out[i], f(static_cast<Compute<T>>(in[K + 1][i])...), write);
    return;
  }
  std::array<std::int64_t, N> step;
  for (std::size_t k = 0; k < N; ++k) step[k] = nest.stride[k][nest.rank - 1];
  for (std::int64_t i = 0; i < n; ++i)
    store(out[i * step[0]], f(static_cast<Compute<T>>(in[K + 1][i * step[K + 1]])...), write);
}

template <class T, class F, class... In>
void elementwise_as(const Destination& out, const F& f, const In&... in) {
  constexpr std::size_t N = 1 + sizeof...(In);
  constexpr auto inputs = std::make_index_sequence<N - 1>{};
  const LoopNest<N> nest = loop_nest<N>(out.tensor.shape(), {&out.tensor, &in...});
  T* const base[N] = {out.tensor.data<T>(), in.template data<T>()...};
  if (out.tensor.device().kind == Device::Kind::cpu) {
    for_each_inner_loop(nest, [&](const std::array<std::int64_t, N>& offset) {
      if (out.write == Write::overwrite) {
        inner_loop<Write::overwrite>(nest, offset, base, f, inputs);
      } else {
        inner_loop<Write::accumulate>(nest, offset, base, f, inputs);
      }
    });
    return;
  }
#ifdef SKEP_GPU
  Operands<F, T, N> operands;
  for (std::size_t k = 0; k < N; ++k) operands.base[k] = base[k];
  const std::int64_t n = nest.numel();
  launch(elementwise_kernel<F, T, N>, (n + 255) / 256, 256, nest, operands, f, out.write, n);
#else
  fail(ErrorKind::bug, "elementwise: tensor on a GPU, but this binary was built without CUDA");
#endif
}

}  // namespace detail

/// out (=, +=) f(in...) element by element; inputs are broadcast to out's shape. All operands have
/// one floating dtype; f is called with its compute type (double for fp64, float otherwise).
template <class F, class... In>
void elementwise(const Destination& out, const F& f, const In&... in) {
  with_float(out.tensor.dtype(),
             [&](auto zero) { detail::elementwise_as<decltype(zero)>(out, f, in...); });
  out.tensor.storage()->bump_version();
}

#ifdef SKEP_GPU
template <class F>
__global__ void index_kernel(std::int64_t n, F f) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < n) f(i);
}
#endif

/// f(i) for i in [0, n), in any order: for loops over flat spans that write several of them.
template <class F>
void for_each_index(Device device, std::int64_t n, const F& f) {
  if (device.kind == Device::Kind::cpu) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) f(i);
    return;
  }
#ifdef SKEP_GPU
  launch(index_kernel<F>, (n + 255) / 256, 256, n, f);
#else
  fail(ErrorKind::bug, "for_each_index: tensor on a GPU, but this binary was built without CUDA");
#endif
}

}  // namespace skep
