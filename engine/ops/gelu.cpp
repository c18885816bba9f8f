// y = 0.5 x (1 + tanh(u)), u = sqrt(2/π) (x + 0.044715 x³) (Hendrycks & Gimpel 2016, tanh form).
// Since (1 + tanh u) / 2 = sigmoid(2u), y = x s and dy/dx = s + x s (1 - s) 2u'.
#include "engine/kernels/math.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

constexpr double two_root = 1.5957691216057308;  // 2 sqrt(2/π)
constexpr double cubic = 0.044715;

struct GeluValue {
  template <class T>
  HD T operator()(T x) const {
    return x * math::sigmoid(T(two_root) * x * (T(1) + T(cubic) * x * x));
  }
};
struct GeluGrad {
  template <class T>
  HD T operator()(T x, T gy) const {
    const T square = x * x;
    const T s = math::sigmoid(T(two_root) * x * (T(1) + T(cubic) * square));
    return gy * (s + x * s * (T(1) - s) * T(two_root) * (T(1) + T(3 * cubic) * square));
  }
};

struct Gelu final : Node {
  Saved x;

  Tensor forward(const Tensor& in) {
    x = in;
    Tensor y = empty_like(in);
    elementwise({y}, GeluValue{}, in);
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    elementwise(sink.slot(0), GeluGrad{}, x.get(), gy[0]);
  }
};

const OpEntry entry("gelu", "y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", &gelu,
                    [](const Shape& x) { return x; }, {normal({3, 5})}, {{normal({2, 1, 7})}});

}  // namespace

Tensor gelu(const Tensor& x) { return apply(entry, Gelu{}, x); }

}  // namespace skep
