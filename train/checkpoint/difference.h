#pragma once
// The difference of two equally long runs of bytes: their XOR, split into the first, second, third
// and fourth bytes of words (signs and exponents come to stand together, and are mostly zero), and
// compressed with zstd.
#include <cstddef>
#include <span>
#include <vector>

namespace skep {

/// What turns `reference` into `now`.
std::vector<std::byte> pack_difference(std::span<const std::byte> now,
                                       std::span<const std::byte> reference);

/// Turns a reference into what was packed. False when `packed` is no difference of that length;
/// `bytes` is then undefined.
bool apply_difference(std::span<const std::byte> packed, std::span<std::byte> bytes);

}  // namespace skep
