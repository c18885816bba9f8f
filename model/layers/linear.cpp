#include "model/layers/linear.h"

#include "engine/ops/ops.h"

namespace skep {

Linear::Linear(std::int64_t in, std::int64_t out, Bias bias, const Init& init)
    : weight_(parameter("weight", {out, in}, init)) {
  if (bias == Bias::yes) bias_ = &parameter("bias", {out}, constant_init(0));
}

Tensor Linear::forward(const Tensor& x, const Pass&) {
  return linear(x, weight_, bias_ ? *bias_ : Tensor{});
}

}  // namespace skep
