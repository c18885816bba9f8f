#include "engine/backends/cpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>

#include "engine/core/error.h"

namespace skep::cpu {
namespace {

constexpr std::size_t alignment = 64, huge_page = std::size_t{2} << 20,
                      slab_bytes = std::size_t{32} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool each_block_alone = true;
#else
constexpr bool each_block_alone = false;
#endif

// A slab aligned to huge pages; the slack before and after stays unused (and untouched).
std::byte* map_slab(std::size_t bytes) {
  void* raw =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED)
    fail(ErrorKind::usage,
         "out of memory: the system refused {} MB; a smaller model or micro-batch needs less",
         bytes >> 20);
  const auto address = (reinterpret_cast<std::uintptr_t>(raw) + huge_page - 1) & ~(huge_page - 1);
  madvise(reinterpret_cast<void*>(address), bytes,
          MADV_HUGEPAGE);  // a wish; failure only costs speed
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace

std::size_t size_class(std::size_t bytes) {
  if (bytes <= 512)
    return std::max<std::size_t>((bytes + alignment - 1) / alignment * alignment, alignment);
  const std::size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

void* CachingAllocator::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  in_use_bytes_ += size;
  peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
  if (each_block_alone)
    return ::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{alignment});
  auto& blocks = free_[size];
  if (blocks.empty()) return cut(size);
  void* block = blocks.back();
  blocks.pop_back();
  return block;
}

void CachingAllocator::release(void* data, std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  in_use_bytes_ -= size;
  if (each_block_alone) return ::operator delete (data, std::align_val_t{alignment});
  free_[size].push_back(data);
}

MemoryUse CachingAllocator::use() const {
  const std::lock_guard lock(mutex_);
  return {in_use_bytes_, peak_bytes_, reserved_bytes_};
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_bytes_ = in_use_bytes_;
}

void* CachingAllocator::cut(std::size_t size) {
  if (size > slab_left_) {
    const std::size_t wanted = std::max(slab_bytes, (size + huge_page - 1) / huge_page * huge_page);
    slab_ = map_slab(wanted);
    slab_left_ = wanted;
    reserved_bytes_ += wanted;
  }
  std::byte* block = slab_;
  slab_ += size;
  slab_left_ -= size;
  return block;
}

}  // namespace skep::cpu
