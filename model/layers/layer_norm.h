#pragma once
// Layer normalisation over the last dimension, eps 1e-5.
#include "model/layers/linear.h"

namespace skep {

class LayerNorm final : public Module {
 public:
  LayerNorm(std::int64_t width, Linear::Bias bias);

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (.., C) -> (.., C)

 private:
  const Tensor& gain_;
  const Tensor* bias_ = nullptr;
};

}  // namespace skep
