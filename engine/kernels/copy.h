#pragma once
// Filling, copying and converting: the verbs on whole tensors that every other layer needs.
#include "engine/kernels/launch.h"

namespace skep {

void fill(const Tensor& out, double value);
/// out = from, for any strides and floating or int32 types (converting; broadcasting `from`), on
/// one device.
void copy(const Tensor& out, const Tensor& from);
/// out (=, +=) from, same floating type, broadcasting `from`.
void add_into(const Destination& out, const Tensor& from);

/// `t` itself when its elements are adjacent in row-major order, a copy otherwise.
Tensor contiguous(const Tensor& t);
/// The same values in another type; `t` itself when it has that type already.
Tensor converted(const Tensor& t, DType dtype);
Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});

}  // namespace skep
