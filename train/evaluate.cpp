#include "train/evaluate.h"

#include <array>

#include "engine/autograd/no_grad.h"

namespace skep {

StepTotals evaluate(LanguageModel& model, Objective& objective, const EvaluationLoader& data,
                    Communicator& comm) {
  const NoGrad pause;
  std::array<double, 2> totals{};
  for (std::int64_t i = 0; i < data.batches(); ++i) {
    const Batch batch = data.batch(i);
    totals[0] += objective.loss(model, batch, Pass{}).item();
    totals[1] += static_cast<double>(batch.valid_targets);
  }
  comm.all_reduce(totals, Combine::sum);
  return {totals[0], totals[1]};
}

}  // namespace skep
