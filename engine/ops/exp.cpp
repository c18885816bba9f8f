// y = e^x; dx = dy y.
#include "engine/kernels/math.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct ExpValue {
  template <class T>
  HD T operator()(T x) const {
    return math::exp(x);
  }
};
struct ExpGrad {
  template <class T>
  HD T operator()(T y, T gy) const {
    return gy * y;
  }
};

struct Exp final : Node {
  Saved y;

  Tensor forward(const Tensor& x) {
    Tensor out = empty_like(x);
    elementwise({out}, ExpValue{}, x);
    y = out;
    return out;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    elementwise(sink.slot(0), ExpGrad{}, y.get(), gy[0]);
  }
};

const OpEntry entry("exp", "y = e^x", &exp, [](const Shape& x) { return x; }, {normal({3, 5})});

}  // namespace

Tensor exp(const Tensor& x) { return apply(entry, Exp{}, x); }

}  // namespace skep
