#include "train/observe/peak.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

template <class F>
double shortest_seconds(int runs, F f) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Triad {
  template <class T>
  HD T operator()(T b, T c) const {
    return b + T(3) * c;
  }
};

}  // namespace

double measure_peak_flops(DType inputs) {
  constexpr std::int64_t n = 1024;
  const Tensor a = zeros({n, n}, inputs), b = zeros({n, n}, inputs), c = zeros({n, n});
  return 2.0 * n * n * n / shortest_seconds(8, [&] {
           backend({}).gemm(as_matrix(a), as_matrix(b).transposed(), as_matrix(c), {});
         });
}

double measure_memory_bandwidth() {
  constexpr std::int64_t n = std::int64_t{32} << 20;  // 128 MB each
  const Tensor a = zeros({n}), b = zeros({n}), c = zeros({n});
  return 3.0 * n * sizeof(float) / shortest_seconds(5, [&] { elementwise({a}, Triad{}, b, c); });
}

std::string describe_speed(double product_flops, double seconds, DType inputs) {
  const double speed = product_flops / seconds;
  return fmt::format("{:.1f} GFLOP/s in matrix products, {:.0f} % of this machine's best",
                     speed / 1e9, 100 * speed / measure_peak_flops(inputs));
}

}  // namespace skep
