#pragma once
// Clipping by global norm (Pascanu et al. 2013). The norm is that of the mean gradient: the sum
// over all tokens divided by their number. The optimizer takes the factor where the gradient lies;
// the host, which only tells of the norm, waits for it when it asks.
#include "engine/backends/transfer.h"
#include "engine/optim/gradient_factor.h"

namespace skep {

class Clip {
 public:
  /// `grads` flat, fp32 or fp64, summed over `count` > 0 tokens. max_norm > 0, or infinity for
  /// none; anything else is Error(usage).
  Clip(const Tensor& grads, double count, double max_norm);

  /// By which the summed gradient becomes the mean, clipped one; 0 when it is not finite.
  const Tensor& factor() const { return made_.factor; }
  /// Of the mean gradient, before clipping.
  double norm() { return norm_.value(); }
  /// False: some element is infinite or NaN; the step must be skipped.
  bool finite();

 private:
  GradientFactor made_;
  PendingValues norm_;
};

}  // namespace skep
