#include "train/observe/peak.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"

namespace skep {

double measure_peak_flops(DType inputs) {
  constexpr std::int64_t n = 1024;
  const Tensor a = zeros({n, n}, inputs), b = zeros({n, n}, inputs), c = zeros({n, n});
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 8; ++run) {
    const auto start = std::chrono::steady_clock::now();
    backend({}).gemm(as_matrix(a), as_matrix(b).transposed(), as_matrix(c), {});
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * n * n * n / best;
}

std::string describe_speed(double product_flops, double seconds, DType inputs) {
  const double speed = product_flops / seconds;
  return fmt::format("{:.1f} GFLOP/s in matrix products, {:.0f} % of this machine's best",
                     speed / 1e9, 100 * speed / measure_peak_flops(inputs));
}

}  // namespace skep
