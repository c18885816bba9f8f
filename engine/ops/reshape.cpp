// The same elements in another shape: a view where strides allow it, a copy otherwise.
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Reshape final : Node {
  Shape shape, from;
  explicit Reshape(const Shape& s) : shape(s) {}

  Tensor forward(const Tensor& x) {
    from = x.shape();
    return x.can_reshape(shape) ? x.reshaped(shape) : contiguous(x).reshaped(shape);
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    sink.give(0, gy[0].can_reshape(from) ? gy[0].reshaped(from) : contiguous(gy[0]).reshaped(from));
  }
};

const OpEntry entry("reshape", "y = x in another shape", &reshape,
                    [](const Shape&, const Shape& s) { return s; }, {normal({3, 4}), Shape{2, 6}},
                    {{normal({2, 3, 2}), Shape{12}}});

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check(x.numel() == shape.numel(), "reshape: {} has {} elements, {} has {}", x.shape(), x.numel(),
        shape, shape.numel());
  return apply(entry, Reshape{shape}, x);
}

}  // namespace skep
