#include "model/layers/linear.h"

#include "engine/ops/ops.h"

namespace skep {

Linear::Linear(std::int64_t in, std::int64_t out, Bias bias, const Init& init, Output output)
    : weight_(parameter("weight", {out, in}, init)), output_(output) {
  if (bias == Bias::yes) bias_ = &parameter("bias", {out}, constant_init(0));
}

Tensor Linear::forward(const Tensor& x, const Pass&) {
  const DType result = output_ == Output::wide ? compute_type(x.dtype()) : x.dtype();
  return linear(x, weight_.compute, bias_ ? bias_->value : Tensor{}, result);
}

}  // namespace skep
