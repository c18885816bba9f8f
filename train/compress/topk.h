#pragma once
// The k elements of largest magnitude, and how they travel.
#include <cstdint>
#include <span>
#include <vector>

namespace skep {

/// One chosen element on the wire.
struct SparseEntry {
  std::uint32_t index;
  float value;
};

/// How many of n elements a density means: at least one, at most all.
std::size_t topk_count(std::size_t n, double density);

/// The min(k, n) elements of largest magnitude, by index; of equal magnitudes the lowest indices. n
/// is below 2^32.
std::vector<SparseEntry> select_topk(std::span<const float> values, std::size_t k);

}  // namespace skep
