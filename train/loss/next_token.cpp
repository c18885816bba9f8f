#include "engine/core/random.h"
#include "engine/ops/ops.h"
#include "train/loss/objective.h"

namespace skep {
namespace {

class NextToken final : public Objective {
 public:
  explicit NextToken(double z_weight) : z_weight_(z_weight) {}

  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    Pass here = pass;  // a validation loss stays comparable: it has no z-loss
    if (pass.mode == Pass::Mode::train) here.z_weight = z_weight_;
    const std::int64_t own = batch.B - batch.common_rows;
    if (batch.common_rows == 0) return loss_of({0, own}, model, batch, here);
    const Tensor common =
        scale(loss_of({own, batch.common_rows}, model, batch, here), batch.common_weight);
    return own == 0 ? common : add(loss_of({0, own}, model, batch, here), common);
  }

 private:
  // Dropout sees the rows where they stand in the batch.
  static Tensor loss_of(Slice rows, LanguageModel& model, const Batch& batch, Pass pass) {
    const Tensor inputs = tensor_of(batch.inputs, {batch.B, batch.T});
    const Tensor targets = tensor_of(batch.targets, {batch.B, batch.T});
    pass.first_sample += static_cast<std::uint64_t>(rows.first);
    return model.loss(inputs.sliced(0, rows.first, rows.count),
                      targets.sliced(0, rows.first, rows.count), pass);
  }

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
