#pragma once
// A GPU as a process sees it: its number and the two streams that all work goes to. A thread works
// with the GPU it entered last; one that entered none, with the one that any thread entered last (a
// process has one as a rule).
#include <cuda_runtime_api.h>

#include "engine/backends/cuda/runtime.h"

namespace skep::cuda {

class Context {
 public:
  /// Enters the GPU.
  explicit Context(int device);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The calling thread works with this GPU from now on.
  void enter() const;
  int device() const { return device_; }
  /// 80 for 8.0, 90 for 9.0, …
  int compute_capability() const;
  cudaStream_t stream(StreamId id) const { return id == StreamId::copy ? copy_ : compute_; }

 private:
  int device_;
  cudaStream_t compute_ = nullptr, copy_ = nullptr;  // live until the process ends, as their GPU
};

}  // namespace skep::cuda
