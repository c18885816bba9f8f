#include "train/clip.h"

#include <algorithm>
#include <cmath>

#include "engine/kernels/rows.h"

namespace skep {
namespace {

double sum_of_squares(const Tensor& t) {
  return with_float(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = t.data<T>();
    return CpuTeam{}.sum<double>(t.numel(), [&](std::int64_t i) {
      const double value = static_cast<double>(x[i]);
      return value * value;
    });
  });
}

}  // namespace

Clip clip_by_norm(const Tensor& grads, double count, double max_norm) {
  if (!(max_norm > 0))
    fail(ErrorKind::usage, "optim.max_norm must be greater than 0 or inf, not {}", max_norm);
  check(count > 0, "clip_by_norm: no tokens");
  Clip clip;
  clip.norm = std::sqrt(sum_of_squares(grads)) / count;
  clip.finite = std::isfinite(clip.norm);
  clip.factor = std::min(1.0, max_norm / clip.norm) / count;
  if (clip.norm == 0) clip.factor = 1 / count;
  return clip;
}

}  // namespace skep
