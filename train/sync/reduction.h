#pragma once
// How one bucket of gradients becomes the sum over the ranks. A reduction starts the bucket and
// hands back a flight, which moves on whenever it is looked after; several may be under way.
#include <memory>
#include <span>
#include <string>

#include "engine/backends/device_group.h"
#include "train/compress/codec.h"
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

/// What a reduction found in the gradients of a step that cannot be summed. Counts of elements.
struct Health {
  double not_finite = 0;
  double out_of_range = 0;
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
  /// Whether start() does anything: not where a rank is alone in its group and has its sum already.
  virtual bool changes(const SyncRound&) const { return true; }
  /// Starts to bring a bucket to where start() works on it, the host; and what came out back again.
  virtual std::shared_ptr<Crossing> bring(ParameterStore& store, std::int64_t begin,
                                          std::int64_t end) {
    return store.bring_gradients(begin, end);
  }
  virtual void give_back(ParameterStore& store, std::int64_t begin, std::int64_t end) {
    store.return_gradients(begin, end);
  }
  /// Sums [begin, end) of the flat gradients over the ranks of the round's group. Called for the
  /// same buckets in the same order on all ranks.
  virtual std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                        const SyncRound& round) = 0;
  /// This rank's findings since the first micro-batch of the step.
  virtual Health health() const { return {}; }
  /// The same summed over the ranks: throws where the step cannot go on.
  virtual void judge(const Health&) {}
  /// The step's end: residuals move on only when the weights did.
  virtual void settle(StepEnd) {}
  /// State of this rank's own, such as residuals.
  virtual bool keeps_state() const { return false; }
  virtual void archive(Archive&) {}
  /// What the micro-batches so far have added up to, where more follow.
  virtual void archive_partial(Archive& archive, ParameterStore& store) {
    archive.field("partial_gradients", store.grads());
  }
};

/// fp32 partial sums travel along the topology's own algorithm: the fastest. Which sums are formed
/// depends on the topology and the number of ranks, so results agree to rounding only.
std::unique_ptr<Reduction> make_fast_reduction();

/// The same by the MPI library, out of and into the memory in which gradients are computed.
std::unique_ptr<Reduction> make_device_reduction();

/// The same by the GPUs of a group themselves.
std::unique_ptr<Reduction> make_group_reduction(std::shared_ptr<DeviceGroup> group);

/// Whether what a codec does not send is kept for the next step.
enum class Feedback { no, yes };

/// Encoded parts go to their owners, who add them in rank order: see owner_sum.cpp. `elements`: of
/// the flat gradients.
std::unique_ptr<Reduction> make_owner_sum(std::unique_ptr<Codec> codec,
                                          Feedback feedback = Feedback::no,
                                          std::int64_t elements = 0);

/// Each rank sends the largest share of its gradients to all: see sparse_sum.cpp.
std::unique_ptr<Reduction> make_sparse_sum(double density, Feedback feedback,
                                           std::int64_t elements);

/// Sums of multiples of 1/scale, a power of two: the same bits for any topology and number of
/// ranks; see exact_reduction.cpp.
std::unique_ptr<Reduction> make_exact_reduction(double scale);

}  // namespace skep
