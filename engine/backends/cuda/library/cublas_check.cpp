#include "engine/backends/cuda/library/cublas_check.h"

namespace skep::cuda {

void check_cuda(cublasStatus_t code, const char* call, const char* file, int line) {
  if (code == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  if (code == CUBLAS_STATUS_ALLOC_FAILED) fail_out_of_memory("cuBLASLt found none");
  fail_cuda(ErrorKind::bug, call, file, line,
            fmt::format("{}: {}", cublasLtGetStatusName(code), cublasLtGetStatusString(code)));
}

}  // namespace skep::cuda
