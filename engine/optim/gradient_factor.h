#pragma once
// What an update multiplies a summed gradient with: one over the count, and less where the norm of
// the mean is too large. Made where the gradient is, and read there by the optimizer, so that
// nobody waits for the norm in between.
#include "engine/core/tensor.h"

namespace skep {

struct GradientFactor {
  Tensor norm;    ///< () fp64, of the mean gradient, before clipping
  Tensor factor;  ///< () fp64; 0 when the norm is not finite
};

/// `grads` flat, fp32 or fp64, summed over `count` > 0 tokens; max_norm > 0, or infinity for none.
/// Squares are added in double, so that gradients of 1e30 and of 1e-30 have a norm.
GradientFactor gradient_factor(const Tensor& grads, double count, double max_norm);

}  // namespace skep
