#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A number is a pure function of (key, counter), so dropout masks, initial
// weights and data order are the same on every rank, in any order of evaluation, on any device.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "engine/core/hd.h"

namespace skep {

struct Philox {
  std::uint32_t word[4];
};

/// Ten rounds of Philox on the counter `counter` under the key `key`.
HD inline Philox philox(std::uint64_t key, std::uint64_t counter_low,
                        std::uint64_t counter_high = 0) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low), c1 = counter_low >> 32;
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high), c3 = counter_high >> 32;
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = key >> 32;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c0, b = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t next0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
    const std::uint32_t next2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(b);
    c3 = static_cast<std::uint32_t>(a);
    c0 = next0;
    c2 = next2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Mixes a seed with a label or number into a new, independent key.
HD inline std::uint64_t derive_key(std::uint64_t seed, std::uint64_t number) {
  const Philox p = philox(seed, number, 0x5b5e2d1f00000001ull);
  return (std::uint64_t{p.word[1]} << 32) | p.word[0];
}
inline std::uint64_t derive_key(std::uint64_t seed, std::string_view label) {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (unsigned char c : label) hash = (hash ^ c) * 1099511628211ull;
  return derive_key(seed, hash);
}

/// Uniform 64 random bits for element `index`.
HD inline std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  const Philox p = philox(key, index);
  return (std::uint64_t{p.word[1]} << 32) | p.word[0];
}

/// Uniform in [0, 1), 53 bits.
HD inline double random_uniform(std::uint64_t key, std::uint64_t index) {
  return static_cast<double>(random_bits(key, index) >> 11) * 0x1p-53;
}

/// Standard normal for element `index` (Box-Muller; one draw per counter).
inline double random_normal(std::uint64_t key, std::uint64_t index) {
  const Philox p = philox(key, index);
  const double u = (((std::uint64_t{p.word[1]} << 32) | p.word[0]) >> 11) * 0x1p-53 + 0x1p-54;
  const double v = (((std::uint64_t{p.word[3]} << 32) | p.word[2]) >> 11) * 0x1p-53;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586477 * v);
}

/// Uniform integer in [0, bound), without bias worth naming (128-bit multiply).
inline std::uint64_t random_below(std::uint64_t key, std::uint64_t index, std::uint64_t bound) {
  return static_cast<std::uint64_t>(
      (static_cast<unsigned __int128>(random_bits(key, index)) * bound) >> 64);
}

}  // namespace skep
