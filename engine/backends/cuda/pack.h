#pragma once
// Matrices into and out of the forms that a library's product takes, by kernels of our own.
#include "engine/backends/backend.h"

namespace skep::cuda {

/// The same numbers in a tensor of their own, row after row.
Tensor packed(Device device, const Matrix& m, DType dtype);

/// c (=, +=) product + bias, for any strides of c. `product` (rows, columns) is in c's compute
/// type, and so is the bias; each may be missing. options.alpha is in the product already.
void unpack(Device device, const Tensor& product, const Matrix& c, const GemmOptions& options);

}  // namespace skep::cuda
