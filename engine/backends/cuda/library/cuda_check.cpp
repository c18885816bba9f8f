#include "engine/backends/cuda/library/cuda_check.h"

namespace skep::cuda {
namespace {

std::string_view name_of(const char* call) {
  const std::string_view text(call);
  return text.substr(0, text.find('('));
}

bool is_taken(cudaError_t code) { return code == cudaErrorDevicesUnavailable; }

}  // namespace

void fail_cuda(ErrorKind kind, const char* call, const char* file, int line,
               std::string_view reason) {
  fail(kind, "{} failed at {}:{}: {}", name_of(call), file, line, reason);
}

void fail_out_of_memory(std::string_view wanted) {
  fail(ErrorKind::usage, "out of memory on the GPU: {}; a smaller model or micro-batch needs less",
       wanted);
}

void check_cuda(cudaError_t code, const char* call, const char* file, int line) {
  if (code == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());  // or the next launch would report this error as its own
  if (code == cudaErrorMemoryAllocation)
    fail_out_of_memory(fmt::format("{} got nothing", name_of(call)));
  fail_cuda(is_taken(code) ? ErrorKind::usage : ErrorKind::bug, call, file, line,
            fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code)));
}

}  // namespace skep::cuda
