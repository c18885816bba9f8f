#pragma once
// The simulated GPU's memory: host pages that the host may not touch. They open while a kernel, a
// copy or a product runs, so that code which reads a GPU tensor on the host ends with a fault here,
// as it would on a machine with a GPU. Fresh blocks hold NaN.
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace skep::simulated {

class DeviceMemory {
 public:
  DeviceMemory();

  /// Aligned to 256 bytes; throws Error(usage) when the device has no more.
  void* allocate(std::size_t bytes);
  void release(void* data);
  bool holds(const void* data) const;
  std::size_t total_bytes() const;
  std::size_t reserved_bytes() const { return used_; }

  /// While one lives, this process may read and write the memory.
  class Opening {
   public:
    explicit Opening(DeviceMemory& memory) : memory_(memory) { memory_.open(); }
    ~Opening() { memory_.close(); }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    DeviceMemory& memory_;
  };

 private:
  struct Block {
    std::size_t bytes = 0, room = 0;
  };
  void open();
  void close();
  void protect(int how);

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;  // cut from the front of the region
  std::unordered_map<std::size_t, std::vector<std::byte*>> free_;  // by room
  std::unordered_map<std::byte*, Block> blocks_;
  int open_ = 0;  // openings alive
};

DeviceMemory& device_memory();

}  // namespace skep::simulated
