#include "train/checkpoint/difference.h"

#include <zstd.h>

#include "engine/core/error.h"

namespace skep {
namespace {

constexpr std::size_t word_bytes = 4;
// The low bytes of changed floats are noise, in which more effort finds nothing.
constexpr int zstd_level = 1;

// Calls f(byte of the data, its place among the split bytes) for each byte.
template <class F>
void for_each_place(std::size_t bytes, F f) {
  const std::size_t words = bytes / word_bytes;
  for (std::size_t place = 0; place < word_bytes; ++place)
    for (std::size_t word = 0; word < words; ++word)
      f(word_bytes * word + place, words * place + word);
  for (std::size_t i = words * word_bytes; i < bytes; ++i) f(i, i);
}

}  // namespace

std::vector<std::byte> pack_difference(std::span<const std::byte> now,
                                       std::span<const std::byte> reference) {
  check(now.size() == reference.size(), "difference: {} bytes and {}", now.size(),
        reference.size());
  std::vector<std::byte> split(now.size());
  for_each_place(now.size(),
                 [&](std::size_t i, std::size_t place) { split[place] = now[i] ^ reference[i]; });
  std::vector<std::byte> packed(ZSTD_compressBound(split.size()));
  const std::size_t bytes =
      ZSTD_compress(packed.data(), packed.size(), split.data(), split.size(), zstd_level);
  check(ZSTD_isError(bytes) == 0, "difference: zstd: {}", ZSTD_getErrorName(bytes));
  packed.resize(bytes);
  return packed;
}

bool apply_difference(std::span<const std::byte> packed, std::span<std::byte> bytes) {
  std::vector<std::byte> split(bytes.size());
  if (ZSTD_decompress(split.data(), split.size(), packed.data(), packed.size()) != split.size())
    return false;
  for_each_place(bytes.size(), [&](std::size_t i, std::size_t place) { bytes[i] ^= split[place]; });
  return true;
}

}  // namespace skep
