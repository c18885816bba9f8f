#pragma once
// The order of the samples, without storing it. A Feistel network of Philox rounds permutes the
// smallest square power of two >= n; values outside [0, n) are fed in again until they fall inside
// ("cycle walking", Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). The
// order is a pure function of (seed, epoch): any number of ranks, starting anywhere, agrees on it.
#include <bit>
#include <cstdint>

#include "engine/core/error.h"
#include "engine/core/random.h"

namespace skep {

/// A permutation of [0, n): `permutation(i)` in O(1) time (fewer than 4 walks on average) and
/// memory.
class Permutation {
 public:
  Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t n)
      : key_(derive_key(derive_key(seed, "sample order"), epoch)), n_(n) {
    check(n >= 1, "permutation of {} elements", n);
    const int bits = std::bit_width(static_cast<std::uint64_t>(n - 1));
    half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
  }

  std::int64_t operator()(std::int64_t i) const {
    check(i >= 0 && i < n_, "permutation: element {} of {}", i, n_);
    auto value = static_cast<std::uint64_t>(i);
    do {
      value = feistel(value);
    } while (value >= static_cast<std::uint64_t>(n_));
    return static_cast<std::int64_t>(value);
  }

 private:
  std::uint64_t feistel(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_, right = value & mask;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t mixed = left ^ (random_bits(key_, (round << 32) | right) & mask);
      left = right;
      right = mixed;
    }
    return (left << half_bits_) | right;
  }

  static constexpr std::uint64_t rounds = 8;
  std::uint64_t key_;
  std::int64_t n_;
  int half_bits_;
};

/// What a sample is: a window of the data, cut at `shift`.
struct Draw {
  std::int64_t window = 0, shift = 0;
  enum class Kind { own, common } kind = Kind::own;  ///< met by one rank, or by every rank
};

/// Where the windows of an epoch are cut, in [0, context).
inline std::int64_t window_shift(std::uint64_t seed, std::uint64_t epoch, std::int64_t context) {
  return static_cast<std::int64_t>(
      random_below(derive_key(seed, "window shift"), epoch, static_cast<std::uint64_t>(context)));
}

/// The endless sequence of samples of a run: one permutation of the windows after another, each
/// epoch with windows cut at another place, so that a token is not always at the same position.
struct GlobalOrder {
  std::uint64_t seed;
  std::int64_t windows;
  std::int64_t context = 1;
  std::int64_t unused = 0;  ///< windows at the end of each permutation that an epoch leaves out

  std::int64_t epoch_samples() const { return windows - unused; }
  std::int64_t epoch(std::int64_t sample) const { return sample / epoch_samples(); }
  std::int64_t window(std::int64_t sample) const {
    return Permutation(seed, static_cast<std::uint64_t>(epoch(sample)),
                       windows)(sample % epoch_samples());
  }
  std::int64_t shift(std::int64_t sample) const {
    return window_shift(seed, static_cast<std::uint64_t>(epoch(sample)), context);
  }
  Draw at(std::int64_t sample) const { return {window(sample), shift(sample)}; }
};

}  // namespace skep
