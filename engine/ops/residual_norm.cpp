// s = x + branch and y = layer_norm(s) in one pass over memory: a row is normalised while it still
// sits in cache. Backward: s passes its own gradient and the norm's to x and to branch alike.
#include "engine/ops/apply.h"
#include "engine/ops/norm_core.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

std::vector<Shape> residual_norm_shapes(const Shape& x, const Shape& branch, const Shape& gain,
                                        const Shape& bias, double, std::optional<DType>) {
  check(x == branch, "branch {} does not have the shape of x {}", branch, x);
  detail::check_norm_shapes(x, gain, bias);
  return {x, x};
}

struct ResidualNorm final : Node {
  static constexpr MixesTypes mixes_types = MixesTypes::yes;
  detail::NormCore norm;
  ResidualNorm(double eps, std::optional<DType> result) : norm{eps, result, {}, {}, {}, {}} {}

  std::vector<Tensor> forward(const Tensor& x, const Tensor& branch, const Tensor& gain,
                              const Tensor& bias) {
    residual_norm_shapes(x.shape(), branch.shape(), gain.shape(), bias.shape(), 0, {});
    check(x.dtype() == branch.dtype(), "x is {}, branch {}: cast one", name_of(x.dtype()),
          name_of(branch.dtype()));
    const Tensor a = contiguous(x), b = contiguous(branch), sum = empty_like(a);
    const Tensor y = norm.forward(sum, gain, bias, [&]<class T>(T) {
      return detail::AddRow<T>{sum.data<T>(), a.data<T>(), b.data<T>(), sum.size(-1)};
    });
    return {sum, y};
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor& through_sum = grads[0];
    if (!grads[1].defined()) return pass_on(through_sum, sink);  // nobody used y
    const Tensor gy = contiguous(grads[1]);
    if (sink.wants(0) || sink.wants(1)) {
      const Tensor both = empty_like(norm.x.get());
      norm.input_gradient(gy, through_sum.defined() ? contiguous(through_sum) : through_sum,
                          {both, Write::overwrite});
      pass_on(both, sink);
    }
    norm.parameter_gradients(gy, sink, 2);
  }
  static void pass_on(const Tensor& grad, GradSink& sink) {
    sink.give(0, grad);
    sink.give(1, grad);
  }
};

const OpEntry entry("residual_norm", "s = x + branch, y = layer_norm(s)", &residual_norm,
                    residual_norm_shapes,
                    {normal({3, 6}), normal({3, 6}), normal({6}), normal({6}), 1e-5, std::nullopt},
                    {{normal({2, 2, 5}), normal({2, 2, 5}), normal({5}), absent(), 1e-5,
                      std::nullopt}});

}  // namespace

std::vector<Tensor> residual_norm(const Tensor& x, const Tensor& branch, const Tensor& gain,
                                  const Tensor& bias, double eps, std::optional<DType> result) {
  return apply(entry, ResidualNorm{eps, result}, x, branch, gain, bias);
}

}  // namespace skep
