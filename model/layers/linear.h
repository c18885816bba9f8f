#pragma once
// y = x Wᵀ + b. W (out, in).
#include "model/module.h"

namespace skep {

class Linear final : public Module {
 public:
  enum class Bias { no, yes };
  /// The type of y: that of x, or the wide one in which the residual stream is kept.
  enum class Output { same, wide };
  Linear(std::int64_t in, std::int64_t out, Bias bias, const Init& init,
         Output output = Output::same);

  const Tensor& weight() const { return weight_.compute; }

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (.., in) -> (.., out)

 private:
  const Parameter& weight_;
  const Parameter* bias_ = nullptr;
  Output output_;
};

}  // namespace skep
