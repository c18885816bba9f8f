// y = tanh x; dx = dy (1 - y²).
#include "engine/kernels/math.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct TanhValue {
  template <class T>
  HD T operator()(T x) const {
    return math::tanh(x);
  }
};
struct TanhGrad {
  template <class T>
  HD T operator()(T y, T gy) const {
    return gy * (T(1) - y * y);
  }
};

struct Tanh final : Node {
  Saved y;

  Tensor forward(const Tensor& x) {
    Tensor out = empty_like(x);
    elementwise({out}, TanhValue{}, x);
    y = out;
    return out;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    elementwise(sink.slot(0), TanhGrad{}, y.get(), gy[0]);
  }
};

const OpEntry entry("tanh", "y = tanh x", &tanh, [](const Shape& x) { return x; },
                    {normal({3, 5})});

}  // namespace

Tensor tanh(const Tensor& x) { return apply(entry, Tanh{}, x); }

}  // namespace skep
