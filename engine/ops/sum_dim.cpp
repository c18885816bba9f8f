// y = Σ x over one dimension, which goes away; dx = dy along it.
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

Shape without(const Shape& x, int dim) {
  Shape y;
  for (int i = 0; i < x.rank(); ++i)
    if (i != x.wrap(dim)) y.push_back(x[i]);
  return y;
}
Shape kept(const Shape& x, int dim) {
  Shape y = x;
  y[dim] = 1;
  return y;
}

struct SumDim final : Node {
  int dim;
  Shape from;
  explicit SumDim(int d) : dim(d) {}

  Tensor forward(const Tensor& x) {
    from = x.shape();
    Tensor y = empty(kept(from, dim), x.dtype(), x.device());
    if (x.numel() == 0) {
      fill(y, 0);
    } else {
      sum_to({y}, x);
    }
    return y.reshaped(without(from, dim));
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    add_into(sink.slot(0), contiguous(gy[0]).reshaped(kept(from, dim)));
  }
};

const OpEntry entry("sum_dim", "y = sum of x along one dimension", &sum_dim, without,
                    {normal({3, 4}), 0}, {{normal({2, 3, 4}), 1}, {normal({2, 5}), -1}});

}  // namespace

Tensor sum_dim(const Tensor& x, int dim) { return apply(entry, SumDim{dim}, x); }

// A scaled sum: no second formula for the gradient.
Tensor mean_dim(const Tensor& x, int dim) {
  return scale(sum_dim(x, dim), 1.0 / static_cast<double>(x.size(dim)));
}

}  // namespace skep
