// y = Σ x over everything; dx = dy everywhere.
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Sum final : Node {
  Tensor forward(const Tensor& x) {
    Tensor y = empty({}, x.dtype(), x.device());
    if (x.numel() == 0) {
      fill(y, 0);
    } else {
      sum_to({y}, x);
    }
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    add_into(sink.slot(0), gy[0]);
  }
};

const OpEntry entry("sum", "y = sum of x", &sum, [](const Shape&) { return Shape{}; },
                    {normal({3, 4})}, {{normal({5})}});

}  // namespace

Tensor sum(const Tensor& x) { return apply(entry, Sum{}, x); }

}  // namespace skep
