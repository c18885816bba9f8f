#include "train/data/loader.h"

#include <algorithm>
#include <span>

#include "engine/core/error.h"

namespace skep {
namespace {

/// Empties a batch and gives it room for B windows.
void prepare(Batch& batch, const Dataset& data, std::int64_t B) {
  batch.B = B;
  batch.T = data.context();
  batch.inputs.resize(static_cast<std::size_t>(B * batch.T));
  batch.targets.resize(static_cast<std::size_t>(B * batch.T));
  batch.valid_targets = batch.common_targets = batch.common_rows = 0;
  batch.common_weight = 1;
  batch.samples.clear();
}

/// Puts a window into the next free row. Returns its number of valid targets.
std::int64_t add_window(Batch& batch, const Dataset& data, const Draw& draw, std::int64_t sample) {
  const auto T = static_cast<std::size_t>(batch.T);
  const std::size_t at = batch.samples.size() * T;
  const std::int64_t valid = data.fill(draw.window, std::span(batch.inputs).subspan(at, T),
                                       std::span(batch.targets).subspan(at, T), draw.shift);
  batch.valid_targets += valid;
  batch.samples.push_back(sample);
  return valid;
}

bool is_common(const Draw& draw) { return draw.kind == Draw::Kind::common; }

}  // namespace

Slice rank_slice(Slice all, std::int64_t rank, std::int64_t ranks) {
  check(rank >= 0 && rank < ranks, "slice of rank {} of {}", rank, ranks);
  // The first `extra` ranks take one more; no product of count and rank can overflow this way.
  const std::int64_t share = all.count / ranks, extra = all.count % ranks;
  return {all.first + rank * share + std::min(rank, extra), share + (rank < extra ? 1 : 0)};
}

Loader::Loader(const Dataset& data, std::uint64_t seed, BatchSplit split, std::int64_t rank,
               LastBatch last)
    : data_(data),
      order_{seed, data.shifted_windows(), data.context()},
      split_(split),
      rank_(rank) {
  check(data.windows() >= 1, "loader: the dataset has no windows");
  check(rank >= 0 && rank < split.ranks, "loader: rank {} of {}", rank, split.ranks);
  if (last == LastBatch::shared_by_epochs) return;
  order_.unused = order_.windows % split.global_batch();
  if (order_.epoch_samples() == 0)
    fail(ErrorKind::usage,
         "data.drop_last leaves nothing to train on: an epoch has {} windows, batch.global_batch "
         "is {}; use more data, a smaller batch, or data.drop_last = false",
         order_.windows, split.global_batch());
}

void Loader::deal(std::uint64_t seed, double common_fraction) {
  chaos_ = ChaosOrder({seed, order_.windows, order_.context, split_.ranks, common_fraction});
}

Batch Loader::micro_batch(std::int64_t position, std::int64_t index) const {
  Batch batch;
  fill(position, index, batch);
  return batch;
}

void Loader::fill(std::int64_t position, std::int64_t index, Batch& batch) const {
  check(position >= 0, "loader: position {}", position);
  check(index >= 0 && index < split_.accumulation, "loader: micro-batch {} of {}", index,
        split_.accumulation);
  const Slice mine = rank_slice({position, split_.global_batch()}, rank_, split_.ranks);
  std::int64_t place = mine.first + index * split_.micro_batch;
  prepare(batch, data_, split_.micro_batch);
  if (chaos_) batch.common_weight = chaos_->common_weight();
  for (const Draw& draw : draws(position, index)) {
    const std::int64_t valid = add_window(batch, data_, draw, place++);
    if (!is_common(draw)) continue;
    ++batch.common_rows;
    batch.common_targets += valid;
  }
}

// What this rank meets in a micro-batch: samples of its own, then those of the pool.
std::vector<Draw> Loader::draws(std::int64_t position, std::int64_t index) const {
  const std::int64_t first = index * split_.micro_batch;
  const Slice mine = rank_slice({position, split_.global_batch()}, rank_, split_.ranks);
  std::vector<Draw> draws;
  for (std::int64_t i = first; i < first + split_.micro_batch; ++i)
    draws.push_back(chaos_ ? chaos_->at(position + i * split_.ranks + rank_)
                           : order_.at(mine.first + i));
  std::stable_partition(draws.begin(), draws.end(),
                        [](const Draw& draw) { return !is_common(draw); });
  return draws;
}

Batch Loader::sample(std::int64_t index) const {
  check(index >= 0, "loader: sample {}", index);
  Batch batch;
  prepare(batch, data_, 1);
  add_window(batch, data_, chaos_ ? chaos_->at(index) : order_.at(index), index);
  return batch;
}

EvaluationLoader::EvaluationLoader(const Dataset& data, std::int64_t windows,
                                   std::int64_t batch_size, std::int64_t rank, std::int64_t ranks)
    : data_(data), slice_(rank_slice({0, windows}, rank, ranks)), batch_size_(batch_size) {
  check(windows >= 0 && windows <= data.windows(), "evaluation: {} windows of {}", windows,
        data.windows());
  check(batch_size >= 1, "evaluation: batch size {}", batch_size);
}

Batch EvaluationLoader::batch(std::int64_t index) const {
  check(index >= 0 && index < batches(), "evaluation: batch {} of {}", index, batches());
  const std::int64_t done = index * batch_size_;
  const std::int64_t B = std::min(batch_size_, slice_.count - done);
  Batch batch;
  prepare(batch, data_, B);
  for (std::int64_t i = 0; i < B; ++i) {
    const std::int64_t window = slice_.first + done + i;
    add_window(batch, data_, {window}, window);
  }
  return batch;
}

std::int64_t evaluation_windows(const Dataset& data, std::int64_t eval_batches,
                                std::int64_t global_batch) {
  const std::int64_t all = data.windows();
  if (eval_batches == 0 || eval_batches > all / global_batch) return all;
  return eval_batches * global_batch;
}

}  // namespace skep
