#pragma once
// Batches. The position in the data is one number, the global index of the next sample: a step with
// global batch G takes samples [position, position + G), and rank r of N the r-th of N contiguous
// slices of them. So every N sees the same global batches, and resuming is remembering a number.
// Dealt chaotically (chaos.h), the position is still that number, but N decides who meets what.
#include <cstdint>
#include <optional>
#include <vector>

#include "train/config.h"
#include "train/data/chaos.h"
#include "train/data/dataset.h"
#include "train/data/shuffle.h"

namespace skep {

struct Batch {
  std::int64_t B = 0;                 ///< sequences
  std::int64_t T = 0;                 ///< tokens of each
  std::vector<std::int32_t> inputs;   ///< (B, T)
  std::vector<std::int32_t> targets;  ///< (B, T), ignored_target where there is none
  std::int64_t valid_targets = 0;
  /// (B), number among the samples of all steps (training) or window (validation).
  std::vector<std::int64_t> samples;
  std::int64_t common_rows = 0;     ///< the last ones: samples that every rank meets
  std::int64_t common_targets = 0;  ///< of valid_targets, those in these rows
  double common_weight = 1;         ///< what each of them counts for

  /// What the targets count for together.
  double counted_targets() const {
    return static_cast<double>(valid_targets - common_targets) +
           common_weight * static_cast<double>(common_targets);
  }
};

/// Consecutive samples or windows.
struct Slice {
  std::int64_t first;
  std::int64_t count;
};

/// Rank r's part of [first, first + count): slices differ by at most one and join without gaps.
Slice rank_slice(Slice all, std::int64_t rank, std::int64_t ranks);

/// What becomes of the samples at the end of an epoch that fill no global batch.
enum class LastBatch {
  shared_by_epochs,  ///< the next epoch's first samples fill it up: every window, every epoch
  dropped            ///< no batch mixes two epochs; each epoch misses a few windows, other ones
};

/// Training batches of one rank. Any number of threads may ask at once.
class Loader {
 public:
  /// The dataset must outlive the loader and have at least one window. Error(usage) when dropping
  /// leaves no batch.
  Loader(const Dataset& data, std::uint64_t seed, BatchSplit split, std::int64_t rank,
         LastBatch last = LastBatch::shared_by_epochs);

  /// From now on samples are dealt chaotically, `common_fraction` of a rank's to all ranks.
  void deal(std::uint64_t seed, double common_fraction);
  const std::optional<ChaosOrder>& chaos() const { return chaos_; }

  /// Micro-batch `index` (of split.accumulation) of the step that starts at `position`.
  Batch micro_batch(std::int64_t position, std::int64_t index) const;
  /// The same, into the memory of a batch that is no longer needed.
  void fill(std::int64_t position, std::int64_t index, Batch& batch) const;

  /// The one sample of this global index.
  Batch sample(std::int64_t index) const;

  /// Of all ranks.
  std::int64_t epoch_samples() const {
    return chaos_ ? chaos_->epoch_samples() : order_.epoch_samples();
  }
  /// That of even sharding.
  const GlobalOrder& order() const { return order_; }
  const BatchSplit& split() const { return split_; }

 private:
  std::vector<Draw> draws(std::int64_t position, std::int64_t index) const;

  const Dataset& data_;
  GlobalOrder order_;
  std::optional<ChaosOrder> chaos_;
  BatchSplit split_;
  std::int64_t rank_;
};

/// Validation batches of one rank: windows in order, each exactly once over all ranks. Ranks may
/// have different numbers of batches, and the last batch may be smaller.
class EvaluationLoader {
 public:
  /// The first `windows` windows of the dataset (see evaluation_windows), which must outlive this.
  EvaluationLoader(const Dataset& data, std::int64_t windows, std::int64_t batch_size,
                   std::int64_t rank, std::int64_t ranks);

  std::int64_t batches() const { return (slice_.count + batch_size_ - 1) / batch_size_; }
  Batch batch(std::int64_t index) const;

 private:
  const Dataset& data_;
  Slice slice_;
  std::int64_t batch_size_;
};

/// Windows that a validation reads: `eval_batches` global batches, at most all; 0 means all. It
/// does not depend on the number of ranks, and so neither does the loss.
std::int64_t evaluation_windows(const Dataset& data, std::int64_t eval_batches,
                                std::int64_t global_batch);

}  // namespace skep
