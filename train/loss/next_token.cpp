#include "engine/core/random.h"
#include "train/loss/objective.h"

namespace skep {
namespace {

class NextToken final : public Objective {
 public:
  explicit NextToken(double z_weight) : z_weight_(z_weight) {}

  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor inputs = tensor_of(batch.inputs, {batch.B, batch.T});
    const Tensor targets = tensor_of(batch.targets, {batch.B, batch.T});
    Pass here = pass;  // a validation loss stays comparable: it has no z-loss
    if (pass.mode == Pass::Mode::train) here.z_weight = z_weight_;
    return model.loss(inputs, targets, here);
  }

 private:
  double z_weight_;
};

}  // namespace

Pass training_pass(const Batch& batch, std::uint64_t seed) {
  Pass pass{Pass::Mode::train, derive_key(seed, "dropout")};
  pass.first_sample = static_cast<std::uint64_t>(batch.samples.front());
  return pass;
}

std::unique_ptr<Objective> make_next_token(double z_weight) {
  return std::make_unique<NextToken>(z_weight);
}

}  // namespace skep
