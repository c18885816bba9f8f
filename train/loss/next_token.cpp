#include "engine/backends/transfer.h"
#include "engine/core/random.h"
#include "engine/ops/ops.h"
#include "train/loss/objective.h"

namespace skep {
namespace {

class NextToken final : public Objective {
 public:
  NextToken(double z_weight, TaskWeighting weighting)
      : z_weight_(z_weight), weights_(weighting, {1, z_weight}) {}

  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    // A validation loss stays comparable: it is that of the main task alone.
    if (pass.mode == Pass::Mode::evaluate) {
      const Part all = part(batch, {0, batch.B}, pass);
      return model.loss(all.inputs, all.targets, all.pass);
    }
    const std::int64_t own = batch.B - batch.common_rows;
    shares_.clear();
    Tensor total;
    if (own > 0) total = losses_of(model, part(batch, {0, own}, pass), 1);
    if (batch.common_rows > 0) {
      const Tensor common =
          losses_of(model, part(batch, {own, batch.common_rows}, pass), batch.common_weight);
      total = total.defined() ? add(total, common) : common;
    }
    const Tensor penalty = weights_.penalty(batch.counted_targets());
    return penalty.defined() ? add(total, penalty) : total;
  }

  Module* module() override { return &weights_; }
  void archive(Archive& archive) override { weights_.archive(archive); }

  std::vector<Task> tasks() const override {
    if (z_weight_ == 0) return {};
    std::vector<Task> tasks{{.name = "next_token"}, {.name = "z_loss"}};
    const std::vector<double> weights = weights_.values(), s = weights_.log_variances();
    for (const auto& [weight, sums] : shares_)
      for (std::size_t i = 0; const double sum : sums->values())
        tasks[i++].loss_sum += weight * sum;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].weight = weights[i];
      if (!s.empty()) tasks[i].log_variance = s[i];
    }
    return tasks;
  }

 private:
  struct Part {
    Tensor inputs, targets;
    Pass pass;
  };
  // Dropout sees the rows where they stand in the batch.
  static Part part(const Batch& batch, Slice rows, Pass pass) {
    pass.first_sample += static_cast<std::uint64_t>(rows.first);
    const auto cut = [&](const auto& ids) {
      return tensor_of(ids, {batch.B, batch.T}).sliced(0, rows.first, rows.count);
    };
    return {cut(batch.inputs), cut(batch.targets), pass};
  }

  // The weighted sum of both losses, each token of which counts for `weight`.
  Tensor losses_of(LanguageModel& model, const Part& part, double weight) {
    const WeightedLosses losses =
        model.losses(part.inputs, part.targets, weights_.factors(), part.pass);
    if (z_weight_ != 0) shares_.push_back({weight, std::make_unique<PendingValues>(losses.sums)});
    return weight == 1 ? losses.total : scale(losses.total, weight);
  }

  double z_weight_;
  TaskWeights weights_;
  // Both losses of the last training batch, and of its common rows; asked for after backward.
  struct Share {
    double weight;
    std::unique_ptr<PendingValues> sums;
  };
  std::vector<Share> shares_;
};

}  // namespace

Pass training_pass(const Batch& batch, std::uint64_t seed) {
  Pass pass{Pass::Mode::train, derive_key(seed, "dropout")};
  pass.first_sample = static_cast<std::uint64_t>(batch.samples.front());
  return pass;
}

std::unique_ptr<Objective> make_next_token(double z_weight, TaskWeighting weighting) {
  return std::make_unique<NextToken>(z_weight, weighting);
}

}  // namespace skep
