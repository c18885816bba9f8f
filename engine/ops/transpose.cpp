// Two dimensions exchanged: always a view.
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Transpose final : Node {
  int a, b;
  Transpose(int first, int second) : a(first), b(second) {}

  Tensor forward(const Tensor& x) { return x.transposed(a, b); }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    sink.give(0, gy[0].transposed(a, b));
  }
};

Shape transpose_shape(const Shape& x, int a, int b) {
  Shape y = x;
  std::swap(y[a], y[b]);
  return y;
}

const OpEntry entry("transpose", "y = x with two dimensions exchanged", &transpose, transpose_shape,
                    {normal({3, 4}), 0, 1}, {{normal({2, 3, 4, 2}), 1, -1}});

}  // namespace

Tensor transpose(const Tensor& x, int a, int b) { return apply(entry, Transpose{a, b}, x); }

}  // namespace skep
