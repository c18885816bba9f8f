#pragma once
// Tensors between the memories of devices.
#include "engine/core/tensor.h"

namespace skep {

/// out = from, of one type, for any strides (broadcasting `from`); one of them is on the CPU. Done
/// when it returns.
void transfer(const Tensor& out, const Tensor& from);

/// The same values in the memory of `device`; `t` itself when they are there.
Tensor to_device(const Tensor& t, Device device);

}  // namespace skep
