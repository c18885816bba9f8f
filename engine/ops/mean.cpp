// Means are scaled sums: no second formula for the gradient.
#include "engine/ops/ops.h"

namespace skep {

Tensor mean(const Tensor& x) { return scale(sum(x), 1.0 / static_cast<double>(x.numel())); }
Tensor mean_dim(const Tensor& x, int dim) {
  return scale(sum_dim(x, dim), 1.0 / static_cast<double>(x.size(dim)));
}

}  // namespace skep
