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
    const Tensor inputs = tensor_of(batch.inputs, {batch.B, batch.T});
    const Tensor targets = tensor_of(batch.targets, {batch.B, batch.T});
    // A validation loss stays comparable: it is that of the main task alone.
    if (pass.mode == Pass::Mode::evaluate) return model.loss(inputs, targets, pass);
    const WeightedLosses losses = model.losses(inputs, targets, weights_.factors(), pass);
    sums_ = to_doubles(losses.sums);
    const Tensor penalty = weights_.penalty(static_cast<double>(batch.valid_targets));
    return penalty.defined() ? add(losses.total, penalty) : losses.total;
  }

  Module* module() override { return &weights_; }
  void archive(Archive& archive) override { weights_.archive(archive); }

  std::vector<Task> tasks() const override {
    if (z_weight_ == 0) return {};
    std::vector<Task> tasks{{.name = "next_token"}, {.name = "z_loss"}};
    const std::vector<double> weights = weights_.values(), s = weights_.log_variances();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].loss_sum = sums_[i];
      tasks[i].weight = weights[i];
      if (!s.empty()) tasks[i].log_variance = s[i];
    }
    return tasks;
  }

 private:
  double z_weight_;
  TaskWeights weights_;
  std::vector<double> sums_ = {0, 0};
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
