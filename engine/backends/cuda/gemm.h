#pragma once
// Matrix products on a GPU: brings any strides and types into the form that the runtime's product
// takes, by kernels of our own.
#include "engine/backends/cuda/runtime.h"

namespace skep::cuda {

/// c (=, +=) alpha a b + bias; any strides, any floating types of a common kind.
void gemm(Runtime& gpu, Device device, const Matrix& a, const Matrix& b, const Matrix& c,
          const GemmOptions& options);

/// Multiplications and additions of all calls so far.
double product_flops();

}  // namespace skep::cuda
