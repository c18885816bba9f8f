#pragma once
// Row arithmetic, written once. A row functor gets a team and a row number; the team offers three
// verbs over the row's n elements: sum, max, each. On the CPU a team is one core with 16-lane
// accumulators (the compiler may not reorder a plain float sum, so the lanes are spelled out); on
// a GPU it is a warp.
#include <cstring>

#include "engine/kernels/launch.h"
#include "engine/kernels/math.h"

namespace skep {

template <class T>
struct LanesOf {
  typedef T type __attribute__((vector_size(64)));
};
template <class T>
using Lanes = typename LanesOf<T>::type;  // one AVX-512 register: 16 floats or 8 doubles

#ifdef __CUDA_ARCH__
// Row functors are HD, so nvcc reads them with this team for the device as well; nobody runs it
// there, and its lanes do not exist.
class CpuTeam {
 public:
  template <class T, class F>
  HD T sum(std::int64_t, F) const {
    return T{};
  }
  template <class T, class F>
  HD T max(std::int64_t, T, F) const {
    return T{};
  }
  template <class F>
  HD void each(std::int64_t, F) const {}
  template <class F>
  HD void once(F) const {}
};
#else
class CpuTeam {
 public:
  /// Sum of f(0) .. f(n-1), in an order that depends on n alone.
  template <class T, class F>
  HD T sum(std::int64_t n, F f) const {
    constexpr int width = 64 / sizeof(T);
    Lanes<T> a{}, b{}, c{}, d{};
    std::int64_t i = 0;
    for (; i + 4 * width <= n; i += 4 * width) {
      a += block<T>(i, f);
      b += block<T>(i + width, f);
      c += block<T>(i + 2 * width, f);
      d += block<T>(i + 3 * width, f);
    }
    for (; i + width <= n; i += width) a += block<T>(i, f);
    T total = fold<T>((a + b) + (c + d), [](T x, T y) { return x + y; });
    for (; i < n; ++i) total += f(i);
    return total;
  }

  /// Largest of f(0) .. f(n-1); lowest for n = 0. A NaN may or may not be seen.
  template <class T, class F>
  HD T max(std::int64_t n, T lowest, F f) const {
    constexpr int width = 64 / sizeof(T);
    Lanes<T> a = lowest + Lanes<T>{}, b = a;
    std::int64_t i = 0;
    for (; i + 2 * width <= n; i += 2 * width) {
      const Lanes<T> x = block<T>(i, f), y = block<T>(i + width, f);
      a = x > a ? x : a;
      b = y > b ? y : b;
    }
    T best = fold<T>(a > b ? a : b, [](T x, T y) { return x > y ? x : y; });
    for (; i < n; ++i) {
      const T x = f(i);
      best = x > best ? x : best;
    }
    return best;
  }

  /// f(i) for every element.
  template <class F>
  HD void each(std::int64_t n, F f) const {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  /// f() once per row: for values that belong to the row, not to an element.
  template <class F>
  HD void once(F f) const {
    f();
  }

 private:
  template <class T, class F>
  HD static Lanes<T> block(std::int64_t at, F& f) {
    constexpr int width = 64 / sizeof(T);
    T value[width];
    for (int j = 0; j < width; ++j) value[j] = f(at + j);
    Lanes<T> lanes;
    std::memcpy(&lanes, value, sizeof lanes);
    return lanes;
  }
  template <class T, class F>
  HD static T fold(Lanes<T> lanes, F f) {
    constexpr int width = 64 / sizeof(T);
    T value[width];
    std::memcpy(value, &lanes, sizeof lanes);
    for (int half = width / 2; half >= 1; half /= 2)
      for (int j = 0; j < half; ++j) value[j] = f(value[j], value[j + half]);
    return value[0];
  }
};
#endif

#ifdef SKEP_GPU
class WarpTeam {
 public:
  template <class T, class F>
  __device__ T sum(std::int64_t n, F f) const {
    T total = 0;
    for (std::int64_t i = threadIdx.x % 32; i < n; i += 32) total += f(i);
    for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
    __syncwarp();  // f may have written what other lanes read next
    return total;
  }
  template <class T, class F>
  __device__ T max(std::int64_t n, T lowest, F f) const {
    T best = lowest;
    for (std::int64_t i = threadIdx.x % 32; i < n; i += 32) {
      const T x = f(i);
      best = x > best ? x : best;
    }
    for (int step = 16; step > 0; step /= 2) {
      const T x = __shfl_xor_sync(0xffffffffu, best, step);
      best = x > best ? x : best;
    }
    return best;
  }
  template <class F>
  __device__ void each(std::int64_t n, F f) const {
    for (std::int64_t i = threadIdx.x % 32; i < n; i += 32) f(i);
    __syncwarp();
  }
  template <class F>
  __device__ void once(F f) const {
    if (threadIdx.x % 32 == 0) f();
    __syncwarp();
  }
};

template <class F>
__global__ void row_kernel(std::int64_t rows, F f) {
  const std::int64_t row = (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x) / 32;
  if (row < rows) f(WarpTeam{}, row);
}
#endif

/// f(team, row) for each row. Rows are independent of each other.
template <class F>
void for_each_row(Device device, std::int64_t rows, const F& f) {
  if (device.kind == Device::Kind::cpu) {
    for (std::int64_t row = 0; row < rows; ++row) f(CpuTeam{}, row);
    return;
  }
#ifdef SKEP_GPU
  launch(row_kernel<F>, (rows * 32 + 255) / 256, 256, rows, f);
#else
  fail(ErrorKind::bug, "for_each_row: tensor on a GPU, but this binary was built without CUDA");
#endif
}

}  // namespace skep
