#pragma once
// Layer normalisation over the last dimension, eps 1e-5. Takes the wide residual stream and gives
// the type in which products compute.
#include "model/layers/linear.h"

namespace skep {

class LayerNorm final : public Module {
 public:
  LayerNorm(std::int64_t width, Linear::Bias bias);

  struct Joined {
    Tensor sum, normed;  // (.., C) both
  };
  /// x + branch and its norm, computed together.
  Joined join(const Tensor& x, const Tensor& branch) const;

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (.., C) -> (.., C)

 private:
  const Parameter& gain_;
  const Parameter* bias_ = nullptr;
};

}  // namespace skep
