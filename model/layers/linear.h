#pragma once
// y = x Wᵀ + b. W (out, in).
#include "model/module.h"

namespace skep {

class Linear final : public Module {
 public:
  enum class Bias { no, yes };
  Linear(std::int64_t in, std::int64_t out, Bias bias, const Init& init);

  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (.., in) -> (.., out)

 private:
  const Tensor& weight_;
  const Tensor* bias_ = nullptr;
};

}  // namespace skep
