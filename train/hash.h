#pragma once
// XXH3 of bytes: proves that replicas are equal and that a file is the one that was written.
#include <cstddef>
#include <cstdint>
#include <span>

namespace skep {

std::uint64_t hash_bytes(std::span<const std::byte> bytes);

}  // namespace skep
