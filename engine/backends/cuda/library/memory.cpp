#include "engine/backends/cuda/library/memory.h"

#include <cstdint>

#include "engine/backends/cuda/library/cuda_check.h"

namespace skep::cuda {

DeviceMemory::DeviceMemory(const Context& context) : context_(context) {
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool_, context.device()));
  // Without a threshold every synchronisation would give free memory back to the system.
  std::uint64_t threshold = UINT64_MAX;
  CUDA_CHECK(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
}

void* DeviceMemory::allocate(std::size_t bytes) {
  context_.enter();
  void* data = nullptr;
  const cudaError_t code =
      cudaMallocFromPoolAsync(&data, bytes, pool_, context_.stream(StreamId::compute));
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail_out_of_memory(fmt::format("{} MB more are not there", bytes >> 20));
  }
  CUDA_CHECK(code);
  return data;
}

// Tensors die while an error travels up, and static ones after CUDA has shut down: an error here
// tells nobody anything new.
void DeviceMemory::release(void* data) noexcept {
  if (cudaFreeAsync(data, context_.stream(StreamId::compute)) != cudaSuccess)
    static_cast<void>(cudaGetLastError());
}

std::size_t DeviceMemory::reserved_bytes() const {
  std::uint64_t bytes = 0;
  CUDA_CHECK(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes));
  return bytes;
}

void* allocate_pinned(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t code = cudaMallocHost(&data, bytes);
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail(ErrorKind::usage,
         "out of memory: the system refused {} MB for copies to and from the GPU; a smaller "
         "model or comm.bucket_mb needs less",
         bytes >> 20);
  }
  CUDA_CHECK(code);
  return data;
}

}  // namespace skep::cuda
