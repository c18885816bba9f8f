#pragma once
// Every call of a CUDA library is wrapped in CUDA_CHECK: an error that nobody reads would be met
// later, by somebody else. Other libraries' codes come in by an overload of check_cuda.
#include <cuda_runtime_api.h>

#include <string_view>

#include "engine/core/error.h"

namespace skep::cuda {

/// Throws Error with the call, the error's name and CUDA's own words unless code is success: usage
/// when the GPU is full or taken by another process, otherwise bug.
void check_cuda(cudaError_t code, const char* call, const char* file, int line);

/// Throws the Error of a library's call that failed for the reason given.
[[noreturn]] void fail_cuda(ErrorKind kind, const char* call, const char* file, int line,
                            std::string_view reason);

/// Throws the Error(usage) of a GPU without room for something.
[[noreturn]] void fail_out_of_memory(std::string_view wanted);

}  // namespace skep::cuda

#define CUDA_CHECK(call) ::skep::cuda::check_cuda((call), #call, __FILE__, __LINE__)
