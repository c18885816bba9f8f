#include "train/clip.h"

#include <algorithm>
#include <cmath>

#include "engine/kernels/sum_of_squares.h"

namespace skep {
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
