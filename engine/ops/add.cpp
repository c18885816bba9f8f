// y = a + b.
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Plus {
  template <class T>
  HD T operator()(T a, T b) const {
    return a + b;
  }
};

struct Add final : Node {
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = empty(broadcast_shape(a.shape(), b.shape()), a.dtype(), a.device());
    elementwise({y}, Plus{}, a, b);
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    sink.give(0, gy[0]);
    sink.give(1, gy[0]);
  }
};

const OpEntry entry("add", "y = a + b", &add, broadcast_shape, {normal({3, 5}), normal({3, 5})},
                    {{normal({2, 1, 4}), normal({3, 1})},
                     {normal({1}), normal({5, 4})},
                     {normal({}), normal({2})}});

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return apply(entry, Add{}, a, b); }

}  // namespace skep
