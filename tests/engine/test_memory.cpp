// The caching allocator: size classes, alignment, and a steady loop that asks the system for
// nothing.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "engine/backends/cpu/memory.h"
#include "engine/core/random.h"

namespace skep::cpu {
namespace {

TEST_CASE("size classes: large enough, aligned, monotone, little waste") {
  std::size_t last = 0;
  const auto check_class = [&](std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    INFO(bytes << " bytes");
    REQUIRE(size >= bytes);
    REQUIRE(size >= last);
    REQUIRE(size % 64 == 0);
    REQUIRE(size_class(size) == size);
    if (bytes > 512)
      REQUIRE(size - bytes < bytes / 8 + 64);
    else
      REQUIRE(size - bytes <= 64);
    last = size;
  };
  for (std::size_t bytes = 0; bytes < 20000; ++bytes) check_class(bytes);
  for (std::size_t bytes = 20000; bytes < (std::size_t{1} << 42); bytes += bytes / 37 + 1)
    check_class(bytes);
  CHECK(size_class(0) == 64);
  CHECK(size_class(65) == 128);
  CHECK(size_class(1025) == 1152);
}

TEST_CASE("live blocks are aligned and do not overlap") {
  CachingAllocator memory;
  struct Block {
    std::byte* data;
    std::size_t bytes;
    std::uint8_t mark;
  };
  std::vector<Block> live;
  const auto intact = [](const Block& b) {
    for (std::size_t i = 0; i < b.bytes; ++i)
      if (static_cast<std::uint8_t>(b.data[i]) != b.mark) return false;
    return true;
  };
  for (std::uint64_t i = 0; i < 3000; ++i) {
    if (live.size() > 40 || (!live.empty() && random_below(1, i, 3) == 0)) {
      const std::size_t at = random_below(2, i, live.size());
      REQUIRE(intact(live[at]));
      memory.release(live[at].data, live[at].bytes);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::size_t bytes = random_below(3, i, 1 + (i % 4) * 20000);
    auto* data = static_cast<std::byte*>(memory.allocate(bytes));
    REQUIRE(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    live.push_back({data, bytes, static_cast<std::uint8_t>(i)});
    std::memset(data, live.back().mark, bytes);
  }
  for (const Block& b : live) {
    REQUIRE(intact(b));
    memory.release(b.data, b.bytes);
  }
}

TEST_CASE("a steady loop takes nothing more from the system") {
  CachingAllocator memory;
  const auto step = [&] {
    std::vector<std::pair<void*, std::size_t>> live;
    for (std::size_t bytes : {100u, 4096u, 5000u, 70000u, 3000000u, 40000000u, 1u})
      live.emplace_back(memory.allocate(bytes), bytes);
    for (auto [data, bytes] : live) memory.release(data, bytes);
  };
  step();
  const std::size_t reserved = memory.reserved_bytes();
  for (int i = 0; i < 1000; ++i) step();
  CHECK(memory.reserved_bytes() == reserved);
}

TEST_CASE("small blocks share a slab, a huge one gets its own") {
#if defined(__SANITIZE_ADDRESS__)
  SUCCEED("under AddressSanitizer every block is its own allocation");
#else
  CachingAllocator memory;
  std::vector<void*> small;
  for (int i = 0; i < 1000; ++i) small.push_back(memory.allocate(1000));
  CHECK(memory.reserved_bytes() == std::size_t{32} << 20);
  void* const huge = memory.allocate(std::size_t{100} << 20);
  CHECK(memory.reserved_bytes() >= std::size_t{132} << 20);
  CHECK(memory.reserved_bytes() <= std::size_t{160} << 20);
  memory.release(huge, std::size_t{100} << 20);
  for (void* data : small) memory.release(data, 1000);
#endif
}

}  // namespace
}  // namespace skep::cpu
