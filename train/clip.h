#pragma once
// Clipping by global norm (Pascanu et al. 2013). The norm is that of the mean gradient: the sum
// over all tokens divided by their number. Squares are added in double, so that gradients of 1e30
// and of 1e-30 have a norm.
#include "engine/core/tensor.h"

namespace skep {

struct Clip {
  double norm = 0;     ///< of the mean gradient, before clipping
  double factor = 0;   ///< by which the summed gradient becomes the mean, clipped one
  bool finite = true;  ///< false: some element is infinite or NaN; the step must be skipped
};

/// `grads` flat, fp32 or fp64, summed over `count` > 0 tokens. max_norm > 0, or infinity for none;
/// anything else is Error(usage).
Clip clip_by_norm(const Tensor& grads, double count, double max_norm);

}  // namespace skep
