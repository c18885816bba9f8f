#include "train/loss/objective.h"

namespace skep {
namespace {

class NextToken final : public Objective {
 public:
  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor inputs = tensor_of(batch.inputs, {batch.B, batch.T});
    const Tensor targets = tensor_of(batch.targets, {batch.B, batch.T});
    return model.loss(inputs, targets, pass);
  }
};

}  // namespace

std::unique_ptr<Objective> make_next_token() { return std::make_unique<NextToken>(); }

}  // namespace skep
