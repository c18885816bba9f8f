#pragma once
// Host memory on the way to and from a GPU. Getting pinned memory from the system makes the GPU
// wait, so what was released is kept.
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "engine/backends/cuda/runtime.h"

namespace skep::cuda {

/// Pinned blocks, kept for reuse by their size.
class StagingPool {
 public:
  explicit StagingPool(Runtime& gpu) : gpu_(gpu) {}
  void* allocate(std::size_t bytes);
  void release(void* data, std::size_t bytes);

 private:
  Runtime& gpu_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;
};

/// Small copies to the GPU, such as a batch's tokens, for which the host does not wait: they leave
/// from a few pinned slots, taken in turn.
class Uploads {
 public:
  explicit Uploads(Runtime& gpu) : gpu_(gpu) {}
  /// On the compute stream; `from` may change as soon as it returns. False, and nothing done, for
  /// more bytes than a slot has.
  bool copy(void* to, const void* from, std::size_t bytes);

 private:
  struct Slot {
    void* data = nullptr;
    std::unique_ptr<Event> left;  // the last copy out of it
  };
  Runtime& gpu_;
  std::mutex mutex_;
  std::array<Slot, 8> slots_;
  std::size_t next_ = 0;
};

}  // namespace skep::cuda
