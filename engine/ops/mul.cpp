// y = a b; da = dy b, db = dy a, each summed over what was broadcast.
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Times {
  template <class T>
  HD T operator()(T a, T b) const {
    return a * b;
  }
};

struct Mul final : Node {
  Saved a, b;

  Tensor forward(const Tensor& a_in, const Tensor& b_in) {
    a = a_in;
    b = b_in;
    return product(a_in, b_in);
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    if (sink.wants(0)) sink.give(0, product(gy[0], b.get()));
    if (sink.wants(1)) sink.give(1, product(gy[0], a.get()));
  }
  static Tensor product(const Tensor& x, const Tensor& y) {
    Tensor out = empty(broadcast_shape(x.shape(), y.shape()), x.dtype(), x.device());
    elementwise({out}, Times{}, x, y);
    return out;
  }
};

const OpEntry entry("mul", "y = a b", &mul, broadcast_shape, {normal({4, 2}), normal({4, 2})},
                    {{normal({2, 1, 4, 6}), normal({2, 1, 4, 1})},
                     {normal({1}), normal({5, 4})},
                     {normal({4, 1}), normal({1, 4})}});

}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) { return apply(entry, Mul{}, a, b); }

}  // namespace skep
