// Sparse sum: each rank sends only the largest share of its gradients, 8 bytes an entry, to all
// others (all_gather); every rank adds all entries in rank order, so replicas are bit-identical.
// The rest stays behind as a residual (Aji and Heafield, EMNLP 2017). Sends 8 d n (N-1) bytes of n
// elements at density d where dense fp32 sends 8 n (N-1)/N: a gain only below a density of 1/N.
#include <cmath>
#include <cstring>

#include "engine/kernels/copy.h"
#include "train/compress/error_feedback.h"
#include "train/compress/topk.h"
#include "train/sync/reduction.h"

namespace skep {
namespace {

class SparseFlight final : public Flight {
 public:
  SparseFlight(std::span<const SparseEntry> own, std::span<float> grads, const SyncRound& round)
      : grads_(grads), comm_(round.comm), bytes_(own.size_bytes()) {
    const Group group = round.topology.group(round.place());
    const std::vector<std::size_t> counts(static_cast<std::size_t>(group.size()), bytes_);
    memory_ = empty({static_cast<std::int64_t>(bytes_ / 4 * counts.size())}, DType::i32);
    all_ = {static_cast<std::byte*>(memory_.raw()), bytes_ * counts.size()};
    if (bytes_ > 0)
      std::memcpy(all_.data() + bytes_ * static_cast<std::size_t>(group.position), own.data(),
                  bytes_);
    pending_.emplace(comm_.start(round.topology.all_gather(round.place(), counts), WireSpan(all_)));
  }
  void advance() override { comm_.progress(); }
  void wait() override {
    pending_->wait();
    std::fill(grads_.begin(), grads_.end(), 0.0f);
    for (std::size_t at = 0; at < all_.size(); at += sizeof(SparseEntry)) {
      SparseEntry entry;
      std::memcpy(&entry, all_.data() + at, sizeof entry);
      grads_[entry.index] += entry.value;
    }
  }

 private:
  std::span<float> grads_;
  Communicator& comm_;
  std::size_t bytes_;  // of one rank's entries
  Tensor memory_;
  std::span<std::byte> all_;
  std::optional<Pending> pending_;  // last: it waits before the memory goes
};

class SparseSum final : public Reduction {
 public:
  SparseSum(double density, Feedback feedback, std::int64_t elements) : density_(density) {
    if (feedback == Feedback::yes) residual_.emplace("residual_sent", elements);
  }
  std::string name() const override { return "sparse sum of the largest"; }

  void before_backward(ParameterStore&, MicroBatch micro) override {
    if (micro.first()) health_ = {};
  }
  std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                const SyncRound& round) override {
    const std::span grads = store.grads(begin, end);
    if (residual_) residual_->add_to(grads, begin, round.loss_scale);
    for (float& value : grads)
      if (!std::isfinite(value)) {
        ++health_.not_finite;
        value = 0;
      }
    const auto chosen = select_topk(grads, topk_count(grads.size(), density_));
    if (residual_) {
      const Tensor sent = zeros({end - begin});
      for (const SparseEntry& entry : chosen) sent.data<float>()[entry.index] = entry.value;
      residual_->note(grads, {sent.data<float>(), grads.size()}, begin, round.loss_scale);
    }
    return std::make_unique<SparseFlight>(chosen, grads, round);
  }
  Health health() const override { return health_; }
  void settle(StepEnd end) override {
    if (residual_ && end == StepEnd::updated) residual_->commit();
  }
  bool keeps_state() const override { return residual_.has_value(); }
  void archive(Archive& archive) override {
    if (residual_) residual_->archive(archive);
  }

 private:
  double density_;
  std::optional<ErrorFeedback> residual_;
  Health health_;
};

}  // namespace

std::unique_ptr<Reduction> make_sparse_sum(double density, Feedback feedback,
                                           std::int64_t elements) {
  return std::make_unique<SparseSum>(density, feedback, elements);
}

}  // namespace skep
