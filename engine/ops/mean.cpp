// y = Σ x / n over everything; dx = dy / n everywhere.
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Over {
  double count;
  template <class T>
  HD T operator()(T x) const {
    return x / static_cast<T>(count);
  }
};

struct Mean final : Node {
  double count = 0;

  Tensor forward(const Tensor& x) {
    check(x.numel() > 0, "mean: no elements in {}", x.shape());
    count = static_cast<double>(x.numel());
    const Tensor total = empty({}, x.dtype(), x.device());
    sum_to({total}, x);
    Tensor y = empty_like(total);
    elementwise({y}, Over{count}, total);
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    elementwise(sink.slot(0), Over{count}, gy[0]);
  }
};

const OpEntry entry("mean", "y = mean of x", &mean, [](const Shape&) { return Shape{}; },
                    {normal({3, 4})}, {{normal({5})}});

}  // namespace

Tensor mean(const Tensor& x) { return apply(entry, Mean{}, x); }

}  // namespace skep
