#include "engine/backends/cuda/staging.h"

#include <cstring>
#include <thread>

namespace skep::cuda {

void* StagingPool::allocate(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    auto& free = free_[bytes];
    if (!free.empty()) {
      void* data = free.back();
      free.pop_back();
      return data;
    }
  }
  return gpu_.allocate_pinned(bytes);
}

void StagingPool::release(void* data, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_[bytes].push_back(data);
}

bool Uploads::copy(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t slot_bytes = std::size_t{1} << 18;
  if (bytes > slot_bytes) return false;
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[next_++ % slots_.size()];
  if (slot.data == nullptr) {
    slot.data = gpu_.allocate_pinned(slot_bytes);
    slot.left = gpu_.make_event();
  }
  while (!slot.left->done()) std::this_thread::yield();
  std::memcpy(slot.data, from, bytes);
  gpu_.copy(to, slot.data, bytes, StreamId::compute);
  slot.left->record(StreamId::compute);
  return true;
}

}  // namespace skep::cuda
