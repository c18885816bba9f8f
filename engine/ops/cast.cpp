// y = x in another floating type; the gradient comes back in x's own.
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Cast final : Node {
  DType dtype;
  explicit Cast(DType t) : dtype(t) {}

  Tensor forward(const Tensor& x) {
    Tensor y = empty(x.shape(), dtype, x.device());
    copy(y, x);
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override { sink.give(0, gy[0]); }
};

const OpEntry entry("cast", "y = x as another type", &cast, [](const Shape& x, DType) { return x; },
                    {normal({3, 4}), DType::f64});

}  // namespace

Tensor cast(const Tensor& x, DType dtype) { return apply(entry, Cast{dtype}, x); }

}  // namespace skep
