#include "engine/backends/cuda/library/context.h"

#include <atomic>

#include "engine/backends/cuda/library/cuda_check.h"
#include "engine/backends/cuda/stream.h"

namespace skep::cuda {
namespace {

thread_local const Context* of_thread = nullptr;
std::atomic<const Context*> of_process = nullptr;

const Context& current() {
  if (of_thread == nullptr) {
    const Context* last = of_process.load();
    check(last != nullptr, "GPU: a kernel was started before a GPU was chosen");
    last->enter();
  }
  return *of_thread;
}

// Streams that the legacy default stream does not wait for, nor they for it.
cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

}  // namespace

Context::Context(int device) : device_(device) {
  CUDA_CHECK(cudaSetDevice(device));
  compute_ = make_stream();
  copy_ = make_stream();
  enter();
}

int Context::compute_capability() const {
  int major = 0, minor = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_));
  return 10 * major + minor;
}

void Context::enter() const {
  if (of_thread == this) return;
  CUDA_CHECK(cudaSetDevice(device_));
  of_thread = this;
  of_process.store(this);
}

}  // namespace skep::cuda

namespace skep {

cudaStream_t compute_stream() { return cuda::current().stream(cuda::StreamId::compute); }

void check_launch() {
  cuda::check_cuda(cudaGetLastError(), "a kernel, this one or an earlier one,", __FILE__, __LINE__);
}

}  // namespace skep
