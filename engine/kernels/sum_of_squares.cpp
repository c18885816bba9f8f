#include "engine/kernels/sum_of_squares.h"

#include "engine/kernels/rows.h"

namespace skep {
namespace {

constexpr std::int64_t part = 8192;  // elements a row on a GPU

template <class T>
HD double square(T x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

template <class T>
struct SumOfPart {
  double* out;
  const T* x;
  std::int64_t n, part;
  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const std::int64_t begin = row * part, left = n - begin;
    const T* from = x + begin;
    const double sum = team.template sum<double>(left < part ? left : part,
                                                 [&](std::int64_t i) { return square(from[i]); });
    team.once([&] { out[row] = sum; });
  }
};

struct Total {
  double* out;
  const double* sums;
  std::int64_t n;
  template <class Team>
  HD void operator()(const Team& team, std::int64_t) const {
    const double total = team.template sum<double>(n, [&](std::int64_t i) { return sums[i]; });
    team.once([&] { *out = total; });
  }
};

}  // namespace

Tensor sum_of_squares(const Tensor& flat) {
  check(flat.is_contiguous(), "sum_of_squares: the tensor is not contiguous");
  const Device device = flat.device();
  const Tensor total = empty({}, DType::f64, device);
  with_float(flat.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = flat.numel(), parts = (n + part - 1) / part;
    if (device.kind == Device::Kind::cpu) {
      SumOfPart<T>{total.data<double>(), flat.data<T>(), n, n}(CpuTeam{}, 0);
      return;
    }
    const Tensor sums = empty({parts}, DType::f64, device);
    for_each_row(device, parts, SumOfPart<T>{sums.data<double>(), flat.data<T>(), n, part});
    for_each_row(device, 1, Total{total.data<double>(), sums.data<double>(), parts});
  });
  return total;
}

}  // namespace skep
