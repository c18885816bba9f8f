#include "train/hash.h"

#include <xxhash.h>

namespace skep {

std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace skep
