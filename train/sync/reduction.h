#pragma once
// How one bucket of gradients becomes the sum over the ranks. A reduction starts the bucket and
// hands back a flight, which moves on whenever it is looked after; several may be under way.
#include <memory>
#include <span>
#include <string>

#include "train/sync/gradient_sync.h"

namespace skep {

/// A bucket under way. Its memory must stay untouched until wait() has returned.
class Flight {
 public:
  virtual ~Flight() = default;
  /// Goes on as far as possible without waiting.
  virtual void advance() = 0;
  /// Returns when the sums are in place.
  virtual void wait() = 0;
};

class Reduction {
 public:
  virtual ~Reduction() = default;
  virtual std::string name() const = 0;
  /// Before each backward of a step.
  virtual void before_backward(ParameterStore&, MicroBatch) {}
  /// The gradient of a parameter, at [begin, end) of the flat block, is complete for this
  /// micro-batch.
  virtual void gathered(ParameterStore&, std::int64_t /*begin*/, std::int64_t /*end*/) {}
  /// Sums [begin, end) of the flat gradients over the ranks of the round's group. Called for the
  /// same buckets in the same order on all ranks.
  virtual std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                        const SyncRound& round) = 0;
};

/// fp32 partial sums travel along the topology's own algorithm: the fastest. Which sums are formed
/// depends on the topology and the number of ranks, so results agree to rounding only.
std::unique_ptr<Reduction> make_fast_reduction();

}  // namespace skep
