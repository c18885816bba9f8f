// y = (x - μ) / sqrt(variance + eps) · gain + bias over the last dimension; the arithmetic is in
// norm_core.h.
#include "engine/ops/apply.h"
#include "engine/ops/norm_core.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

Shape norm_shape(const Shape& x, const Shape& gain, const Shape& bias, double,
                 std::optional<DType>) {
  detail::check_norm_shapes(x, gain, bias);
  return x;
}

struct LayerNorm final : Node {
  static constexpr MixesTypes mixes_types = MixesTypes::yes;
  detail::NormCore norm;
  LayerNorm(double eps, std::optional<DType> result) : norm{eps, result, {}, {}, {}, {}} {}

  Tensor forward(const Tensor& in, const Tensor& gain, const Tensor& bias) {
    detail::check_norm_shapes(in.shape(), gain.shape(), bias.shape());
    return norm.forward(contiguous(in), gain, bias, [](auto) { return detail::AsItIs{}; });
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor gy = contiguous(grads[0]);
    if (sink.wants(0)) norm.input_gradient(gy, {}, sink.slot(0));
    norm.parameter_gradients(gy, sink, 1);
  }
};

const OpEntry entry("layer_norm", "y = (x - mean) / sqrt(var + eps) gain + bias", &layer_norm,
                    norm_shape, {normal({3, 6}), normal({6}), normal({6}), 1e-5, std::nullopt},
                    {{normal({2, 2, 5}), normal({5}), absent(), 1e-5, std::nullopt}});

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps,
                  std::optional<DType> result) {
  return apply(entry, LayerNorm{eps, result}, x, gain, bias);
}

}  // namespace skep
