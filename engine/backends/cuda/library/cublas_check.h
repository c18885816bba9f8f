#pragma once
#include <cublasLt.h>

#include "engine/backends/cuda/library/cuda_check.h"

namespace skep::cuda {

/// CUDA_CHECK for cuBLASLt's calls.
void check_cuda(cublasStatus_t code, const char* call, const char* file, int line);

}  // namespace skep::cuda
