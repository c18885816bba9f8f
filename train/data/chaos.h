#pragma once
// Chaotic sharding: each epoch deals the windows anew, a pool of them to every rank and the rest to
// one rank each, and every rank meets its share in an order of its own. It is meant for ranks whose
// data are not alike: the pool is what all of them see. It sends and keeps nothing, but of the N q
// samples of an epoch (N-1) C are repetitions, for a pool of C = c q of D windows: from
// D = C + N (q - C) follows q = D / (c + N (1 - c)). A sample of the pool weighs 1/N, so that the
// weights of an epoch add up to D and the objective stays the sum over the data (but that each step
// divides by the weights it happens to hold). One seed deals for all ranks: by seeds of their own
// they would overlap and miss windows.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "train/data/shuffle.h"

namespace skep {

/// The counterpart of GlobalOrder. Sample n is rank (n mod N)'s n/N-th: what a rank meets next does
/// not depend on the size of the batch.
class ChaosOrder {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    std::int64_t windows = 1;    ///< D
    std::int64_t context = 1;    ///< tokens of each
    std::int64_t ranks = 1;      ///< N
    double common_fraction = 0;  ///< c: the pool's share of a rank's epoch, in [0, 1)
  };

  /// The pool has the size nearest to c q that leaves every rank as many windows of its own: D mod
  /// N windows are in it even when c is 0.
  explicit ChaosOrder(const Settings& settings) : s_(settings) {
    const auto D = static_cast<double>(s_.windows), N = static_cast<double>(s_.ranks);
    const double quota = D / (s_.common_fraction + N * (1 - s_.common_fraction));
    const std::int64_t rest = s_.windows % s_.ranks;
    const double rounds = (s_.common_fraction * quota - static_cast<double>(rest)) / N;
    common_ = rest + s_.ranks * std::max<std::int64_t>(0, std::llround(rounds));
    private_ = (s_.windows - common_) / s_.ranks;
  }

  std::uint64_t seed() const { return s_.seed; }
  std::int64_t common() const { return common_; }            ///< C
  std::int64_t quota() const { return common_ + private_; }  ///< q: of one rank in an epoch
  std::int64_t epoch_samples() const { return s_.ranks * quota(); }
  double common_weight() const { return 1 / static_cast<double>(s_.ranks); }

  Draw at(std::int64_t sample) const {
    const std::int64_t rank = sample % s_.ranks, turn = sample / s_.ranks;
    const auto epoch = static_cast<std::uint64_t>(turn / quota());
    const std::uint64_t own =
        derive_key(derive_key(s_.seed, "order of a rank"), static_cast<std::uint64_t>(rank));
    const std::int64_t card = Permutation(own, epoch, quota())(turn % quota());
    // One deal for all: the pool lies first, then a piece for each rank.
    const bool pooled = card < common_;
    const std::int64_t place = pooled ? card : card + rank * private_;
    return {Permutation(s_.seed, epoch, s_.windows)(place),
            window_shift(s_.seed, epoch, s_.context),
            pooled ? Draw::Kind::common : Draw::Kind::own};
  }

 private:
  Settings s_;
  std::int64_t common_ = 0, private_ = 0;
};

}  // namespace skep
