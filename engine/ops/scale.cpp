// y = c x for a constant c.
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct TimesConstant {
  double factor;
  template <class T>
  HD T operator()(T x) const {
    return static_cast<T>(factor) * x;
  }
};

struct Scale final : Node {
  double factor;
  explicit Scale(double f) : factor(f) {}

  Tensor forward(const Tensor& x) {
    Tensor y = empty_like(x);
    elementwise({y}, TimesConstant{factor}, x);
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    elementwise(sink.slot(0), TimesConstant{factor}, gy[0]);
  }
};

const OpEntry entry("scale", "y = c x", &scale, [](const Shape& x, double) { return x; },
                    {normal({3, 4}), -1.75});

}  // namespace

Tensor scale(const Tensor& x, double factor) { return apply(entry, Scale{factor}, x); }

}  // namespace skep
