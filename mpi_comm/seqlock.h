#pragma once
// A value that one thread writes and any thread may read, without locks: the writer never waits, a
// reader that met a write tries again. The bytes are held in atomic words, so there is no data race
// in the language's sense either. (Boehm, "Can seqlocks get along with programming language memory
// models?", MSPC 2012.)
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace skep {

template <class T>
class Seqlock {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// By one thread only.
  void store(const T& value) {
    std::array<std::uint64_t, words> raw{};
    std::memcpy(raw.data(), &value, sizeof(T));
    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);  // odd: being written
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < words; ++i) data_[i].store(raw[i], std::memory_order_relaxed);
    version_.store(version + 2, std::memory_order_release);
  }

  T load() const {
    std::array<std::uint64_t, words> raw;
    std::uint64_t before, after;
    do {
      before = version_.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < words; ++i) raw[i] = data_[i].load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      after = version_.load(std::memory_order_relaxed);
    } while (before % 2 == 1 || before != after);
    T value;
    std::memcpy(static_cast<void*>(&value), raw.data(), sizeof(T));
    return value;
  }

 private:
  static constexpr std::size_t words = (sizeof(T) + 7) / 8;
  std::atomic<std::uint64_t> version_ = 0;
  std::array<std::atomic<std::uint64_t>, words> data_{};
};

}  // namespace skep
