#include "train/clip.h"

#include <cmath>

namespace skep {
namespace {

double checked(double max_norm) {
  if (!(max_norm > 0))
    fail(ErrorKind::usage, "optim.max_norm must be greater than 0 or inf, not {}", max_norm);
  return max_norm;
}

}  // namespace

Clip::Clip(const Tensor& grads, double count, double max_norm)
    : made_(gradient_factor(grads, count, checked(max_norm))), norm_(made_.norm) {}

bool Clip::finite() { return std::isfinite(norm()); }

}  // namespace skep
