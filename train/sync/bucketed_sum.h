#pragma once
// The sum of all gradients over the ranks, bucket by bucket, while backward still computes: a
// bucket starts when its last parameter is complete and all buckets before it have started, so that
// every rank starts the same ones in the same order. At first that is the order of the buckets;
// from the second update on the one in which the first backward completed them on rank 0: the graph
// is taken to be the same at every step, and a part of the model that is used out of order, or not
// at all, holds up no other. Without overlap the same buckets start after backward: the same sums,
// bit for bit, as with any order. From a GPU a bucket first crosses to the host, and back after
// the sum, both beside what the GPU computes.
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "train/sync/buckets.h"
#include "train/sync/reduction.h"

namespace skep {

enum class Overlap { no, yes };

struct BucketedSettings {
  BucketSizes sizes;
  Overlap overlap = Overlap::yes;
};

class BucketedSum {
 public:
  BucketedSum(std::shared_ptr<Reduction> reduction, const BucketedSettings& settings);
  std::string name() const { return reduction_->name(); }

  void before_backward(ParameterStore& store, const SyncRound& round, MicroBatch micro);
  void progress();
  /// Starts what was complete in this backward.
  void end_backward();
  /// Starts what has not started and waits for everything: the store's gradients are sums over the
  /// group.
  void finish(ParameterStore& store, const SyncRound& round);

  Health health() const { return reduction_->health(); }
  void judge(const Health& all) { reduction_->judge(all); }
  void settle(StepEnd end) { reduction_->settle(end); }

 private:
  void prepare(ParameterStore& store);
  void complete(std::size_t parameter);
  const Bucket& in_turn(std::size_t n) const;
  std::size_t brought() const { return flights_.size() + arriving_.size(); }
  void bring_next();
  void start_arrived();
  void sum_all();
  void learn_order(const SyncRound& round);

  std::shared_ptr<Reduction> reduction_;
  BucketedSettings settings_;
  ParameterStore* store_ = nullptr;      // whose gradients call complete()
  std::vector<Bucket> buckets_;          // fixed from the first step on
  std::vector<std::size_t> bucket_of_;   // of each parameter
  std::vector<std::int64_t> order_;      // in which buckets start
  std::vector<std::int64_t> completed_;  // in the last micro-batch, one after another
  bool learned_ = false;                 // is the order the one that backward has?
  std::vector<std::size_t> missing_;     // parameters each bucket still waits for
  std::optional<SyncRound> round_;       // of the last backward; absent: nothing may travel yet
  std::vector<std::unique_ptr<Flight>> flights_;
  std::deque<std::shared_ptr<Crossing>> arriving_;  // buckets on their way to the host
};

}  // namespace skep
