#pragma once
#include "engine/core/tensor.h"

namespace skep {

/// Of a flat tensor's elements: a scalar in fp64, where the tensor is; the range of fp32 is too
/// small for squares of gradients. In an order that depends on the size alone.
Tensor sum_of_squares(const Tensor& flat);

}  // namespace skep
