#include "model/layers/layer_norm.h"

#include "engine/ops/ops.h"

namespace skep {
namespace {

constexpr double eps = 1e-5;

}  // namespace

LayerNorm::LayerNorm(std::int64_t width, Linear::Bias bias)
    : gain_(parameter("weight", {width}, constant_init(1))) {
  if (bias == Linear::Bias::yes) bias_ = &parameter("bias", {width}, constant_init(0));
}

Tensor LayerNorm::forward(const Tensor& x, const Pass&) {
  return layer_norm(x, gain_.value, bias_ ? bias_->value : Tensor{}, eps, gain_.compute.dtype());
}

LayerNorm::Joined LayerNorm::join(const Tensor& x, const Tensor& branch) const {
  const auto both = residual_norm(x, branch, gain_.value, bias_ ? bias_->value : Tensor{}, eps,
                                  gain_.compute.dtype());
  return {both[0], shown(both[0], both[1])};
}

}  // namespace skep
