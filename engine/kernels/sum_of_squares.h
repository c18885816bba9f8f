#pragma once
#include "engine/core/tensor.h"

namespace skep {

/// Of a flat tensor's elements, in fp64: the range of fp32 is too small for squares of gradients.
/// In an order that depends on the size alone.
double sum_of_squares(const Tensor& flat);

}  // namespace skep
