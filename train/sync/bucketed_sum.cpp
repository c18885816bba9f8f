#include "train/sync/bucketed_sum.h"

#include "engine/autograd/grad_slot.h"

namespace skep {

BucketedSum::BucketedSum(std::shared_ptr<Reduction> reduction, const BucketedSettings& settings)
    : reduction_(std::move(reduction)), settings_(settings) {}

void BucketedSum::prepare(ParameterStore& store) {
  if (store_ == &store) return;
  store_ = &store;
  buckets_ = make_buckets(store, for_overlap(settings_.sizes, store.size()));
  bucket_of_.resize(store.list().size());
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (const std::size_t parameter : buckets_[b].parameters) bucket_of_[parameter] = b;
  store.on_gradient_ready([this](std::size_t parameter) { complete(parameter); });
}

void BucketedSum::before_backward(ParameterStore& store, const SyncRound& round, MicroBatch micro) {
  prepare(store);
  reduction_->before_backward(store, micro);
  round_.reset();
  flights_.clear();
  missing_.clear();
  for (const Bucket& bucket : buckets_) missing_.push_back(bucket.parameters.size());
  if (micro.last() && settings_.overlap == Overlap::yes) round_.emplace(round);
}

void BucketedSum::complete(std::size_t parameter) {
  const ParameterStore::Entry& entry = store_->list()[parameter];
  if (!entry.value.slot()->written) return;  // used, but nothing flowed back: zeroed after backward
  reduction_->gathered(*store_, entry.begin, entry.end);
  --missing_[bucket_of_[parameter]];
  while (round_ && flights_.size() < buckets_.size() && missing_[flights_.size()] == 0)
    start_next();
}

void BucketedSum::start_next() {
  const Bucket& next = buckets_[flights_.size()];
  flights_.push_back(reduction_->start(*store_, next.begin, next.end, *round_));
}

void BucketedSum::progress() {
  for (auto& flight : flights_) flight->advance();
}

void BucketedSum::finish(ParameterStore& store, const SyncRound& round) {
  prepare(store);
  round_.emplace(round);
  while (flights_.size() < buckets_.size()) start_next();
  for (auto& flight : flights_) flight->wait();
  flights_.clear();
  round_.reset();
}

}  // namespace skep
