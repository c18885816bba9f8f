#pragma once
// Memory for tensors. Fresh pages cost about half a millisecond per MB, so blocks are cut from
// large slabs (on huge pages) and kept in free lists by size class; nothing returns to the system.
// Under AddressSanitizer each block is its own allocation, so that it can see both ends.
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/backends/backend.h"

namespace skep::cpu {

class CachingAllocator {
 public:
  /// At least `bytes`, aligned to 64; throws Error(bug) when the system has no more.
  void* allocate(std::size_t bytes);
  /// `bytes` as given to allocate.
  void release(void* data, std::size_t bytes);
  /// Taken from the system so far.
  std::size_t reserved_bytes() const { return reserved_bytes_; }
  MemoryUse use() const;
  void reset_peak();

 private:
  void* cut(std::size_t bytes);

  mutable std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<void*>> free_;  // size class -> blocks
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  std::size_t reserved_bytes_ = 0, in_use_bytes_ = 0, peak_bytes_ = 0;
};

/// `bytes` rounded up to its class: multiples of 64, then eight classes per power of two.
std::size_t size_class(std::size_t bytes);

}  // namespace skep::cpu
