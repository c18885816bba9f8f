#include "train/sync/bucketed_sum.h"

#include <algorithm>
#include <numeric>

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
  order_.resize(buckets_.size());
  std::iota(order_.begin(), order_.end(), 0);
  learned_ = false;
  store.on_gradient_ready([this](std::size_t parameter) { complete(parameter); });
}

void BucketedSum::before_backward(ParameterStore& store, const SyncRound& round, MicroBatch micro) {
  prepare(store);
  reduction_->before_backward(store, micro);
  round_.reset();
  flights_.clear();
  arriving_.clear();
  missing_.clear();
  completed_.clear();
  for (const Bucket& bucket : buckets_) missing_.push_back(bucket.parameters.size());
  const bool travels = micro.last() && settings_.overlap == Overlap::yes;
  if (travels && reduction_->changes(round)) round_.emplace(round);
}

void BucketedSum::complete(std::size_t parameter) {
  const ParameterStore::Entry& entry = store_->list()[parameter];
  if (!entry.value.slot()->written) return;  // used, but nothing flowed back: zeroed after backward
  reduction_->gathered(*store_, entry.begin, entry.end);
  const std::size_t bucket = bucket_of_[parameter];
  if (--missing_[bucket] == 0) completed_.push_back(static_cast<std::int64_t>(bucket));
  const auto ready = [&] {
    return brought() < buckets_.size() &&
           missing_[static_cast<std::size_t>(order_[brought()])] == 0;
  };
  while (round_ && ready()) bring_next();
}

// The bucket whose turn it is to set out as the n-th.
const Bucket& BucketedSum::in_turn(std::size_t n) const {
  return buckets_[static_cast<std::size_t>(order_[n])];
}

void BucketedSum::bring_next() {
  const Bucket& next = in_turn(brought());
  arriving_.push_back(reduction_->bring(*store_, next.begin, next.end));
  start_arrived();
}

// In their turn, also where a later one is there before an earlier one.
void BucketedSum::start_arrived() {
  for (; !arriving_.empty() && arriving_.front()->done(); arriving_.pop_front()) {
    const Bucket& next = in_turn(flights_.size());
    flights_.push_back(reduction_->start(*store_, next.begin, next.end, *round_));
  }
}

void BucketedSum::progress() {
  start_arrived();
  for (auto& flight : flights_) flight->advance();
}

void BucketedSum::end_backward() {
  while (!arriving_.empty()) progress();
}

void BucketedSum::finish(ParameterStore& store, const SyncRound& round) {
  prepare(store);
  round_.emplace(round);
  if (reduction_->changes(round)) sum_all();
  round_.reset();
  if (!learned_) learn_order(round);
}

void BucketedSum::sum_all() {
  while (brought() < buckets_.size()) bring_next();
  end_backward();
  for (std::size_t n = 0; n < flights_.size(); ++n) {
    flights_[n]->wait();
    reduction_->give_back(*store_, in_turn(n).begin, in_turn(n).end);
  }
  flights_.clear();
}

// Buckets that backward did not complete, because of a parameter that it does not reach, come last.
void BucketedSum::learn_order(const SyncRound& round) {
  learned_ = true;
  if (settings_.overlap == Overlap::no || buckets_.size() == 1) return;
  for (const std::int64_t bucket : order_)
    if (std::find(completed_.begin(), completed_.end(), bucket) == completed_.end())
      completed_.push_back(bucket);
  order_ = completed_;
  round.comm.broadcast(order_, 0, round.route());
}

}  // namespace skep
