#include "engine/kernels/sum_of_squares.h"

#include <numeric>

#include "engine/kernels/rows.h"

namespace skep {
namespace {

constexpr std::int64_t part = 8192;  // elements a row on a GPU

template <class T>
struct SumOfPart {
  double* out;
  const T* x;
  std::int64_t n;
  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const std::int64_t begin = row * part, left = n - begin;
    const T* from = x + begin;
    const double sum = team.template sum<double>(left < part ? left : part, [&](std::int64_t i) {
      const double value = static_cast<double>(from[i]);
      return value * value;
    });
    team.once([&] { out[row] = sum; });
  }
};

}  // namespace

double sum_of_squares(const Tensor& flat) {
  check(flat.is_contiguous(), "sum_of_squares: the tensor is not contiguous");
  return with_float(flat.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = flat.numel(), parts = (n + part - 1) / part;
    if (flat.device().kind == Device::Kind::cpu) {
      const T* x = flat.data<T>();
      return CpuTeam{}.sum<double>(n, [&](std::int64_t i) {
        const double value = static_cast<double>(x[i]);
        return value * value;
      });
    }
    const Tensor sums = empty({parts}, DType::f64, flat.device());
    for_each_row(flat.device(), parts, SumOfPart<T>{sums.data<double>(), flat.data<T>(), n});
    const std::vector<double> partial = to_doubles(sums);
    return std::accumulate(partial.begin(), partial.end(), 0.0);
  });
}

}  // namespace skep
