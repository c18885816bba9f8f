#include "model/layers/layer_norm.h"

#include "engine/ops/ops.h"

namespace skep {

LayerNorm::LayerNorm(std::int64_t width, Linear::Bias bias)
    : gain_(parameter("weight", {width}, constant_init(1))) {
  if (bias == Linear::Bias::yes) bias_ = &parameter("bias", {width}, constant_init(0));
}

Tensor LayerNorm::forward(const Tensor& x, const Pass&) {
  return layer_norm(x, gain_.value, bias_ ? bias_->value : Tensor{}, 1e-5, gain_.compute.dtype());
}

}  // namespace skep
