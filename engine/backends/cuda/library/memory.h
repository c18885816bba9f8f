#pragma once
// Device memory from the driver's own pool, in the order of the compute stream: a released block
// serves the next tensor without anybody waiting, and nothing goes back to the system, so that a
// steady step asks it for nothing.
#include "engine/backends/cuda/library/context.h"

namespace skep::cuda {

class DeviceMemory {
 public:
  explicit DeviceMemory(const Context& context);

  /// As Runtime::allocate, release and reserved_bytes.
  void* allocate(std::size_t bytes);
  void release(void* data) noexcept;
  std::size_t reserved_bytes() const;

 private:
  const Context& context_;
  cudaMemPool_t pool_ = nullptr;
};

/// Host memory that the GPU reaches by itself.
void* allocate_pinned(std::size_t bytes);

}  // namespace skep::cuda
