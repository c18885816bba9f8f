#include "engine/backends/cuda/simulated/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "engine/core/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#endif

namespace skep::simulated {
namespace {

constexpr std::size_t region_bytes = std::size_t{16} << 30;  // of addresses, not of memory
constexpr std::size_t alignment = 256;  // also between blocks: AddressSanitizer sees both ends

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

DeviceMemory::DeviceMemory() {
  void* memory =
      mmap(nullptr, region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "simulated GPU: no addresses for its memory");
  base_ = static_cast<std::byte*>(memory);
}

bool DeviceMemory::holds(const void* data) const {
  const auto* at = static_cast<const std::byte*>(data);
  return std::less_equal<>()(base_, at) && std::less<>()(at, base_ + region_bytes);
}

std::size_t DeviceMemory::total_bytes() const { return region_bytes; }

void* DeviceMemory::allocate(std::size_t bytes) {
  const Opening opening(*this);
  const std::lock_guard lock(mutex_);
  const std::size_t room = rounded(bytes) + alignment;
  auto& free = free_[room];
  std::byte* data = nullptr;
  if (!free.empty()) {
    data = free.back();
    free.pop_back();
  } else {
    if (used_ + room > region_bytes)
      fail(ErrorKind::usage,
           "out of memory on the GPU: {} MB more are not there; a smaller model or "
           "micro-batch needs less",
           bytes >> 20);
    data = base_ + used_;
    used_ += room;
    protect(PROT_READ | PROT_WRITE);
  }
  blocks_[data] = {bytes, room};
  ASAN_UNPOISON_MEMORY_REGION(data, room);
  std::memset(data, 0xff, bytes);  // NaN in every floating type
  ASAN_POISON_MEMORY_REGION(data + bytes, room - bytes);
  return data;
}

void DeviceMemory::release(void* given) {
  const std::lock_guard lock(mutex_);
  auto* data = static_cast<std::byte*>(given);
  const auto found = blocks_.find(data);
  check(found != blocks_.end(), "GPU: released memory that was not allocated");
  ASAN_POISON_MEMORY_REGION(data, found->second.room);
  free_[found->second.room].push_back(data);
  blocks_.erase(found);
}

void DeviceMemory::open() {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) protect(PROT_NONE);
}

void DeviceMemory::protect(int how) {
  constexpr std::size_t page = 4096;
  if (used_ > 0) mprotect(base_, (used_ + page - 1) / page * page, how);
}

DeviceMemory& device_memory() {
  static auto* const memory = new DeviceMemory;  // tensors of static lifetime outlive main
  return *memory;
}

}  // namespace skep::simulated
