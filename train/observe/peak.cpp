#include "train/observe/peak.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/backends/backend.h"
#include "engine/backends/devices.h"
#include "engine/backends/transfer.h"
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

// A GPU takes many products at a time; that it is through with them shows in one of their numbers.
double measure_peak_flops(DType inputs, Device device) {
  const bool on_cpu = device.kind == Device::Kind::cpu;
  const std::int64_t n = on_cpu || gpu_support().simulated ? 1024 : 8192;
  const int products = on_cpu ? 1 : 10;
  const Tensor a = zeros({n, n}, inputs, device), b = zeros({n, n}, inputs, device),
               c = zeros({n, n}, on_cpu ? DType::f32 : inputs, device);
  const double flops = 2.0 * static_cast<double>(n * n * n) * products;
  return flops / shortest_seconds(8, [&] {
           for (int i = 0; i < products; ++i)
             backend(device).gemm(as_matrix(a), as_matrix(b).transposed(), as_matrix(c), {});
           if (!on_cpu) PendingValues(c.sliced(0, 0, 1).sliced(1, 0, 1)).value();
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
