#pragma once
// Restarts from the best weights: at the end of each cycle of the learning rate the validation loss
// says whether the weights are the best so far; if they are, they are copied, with the optimizer's
// state, and if not, the next cycle begins with the copy. It helps where a restart's high rate led
// to a worse place. The copy costs 12 bytes a parameter with AdamW, in memory and, so that a run
// that resumes goes back to the same weights, in every checkpoint. The validation loss is summed
// over all ranks, so all of them decide the same.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/archive.h"
#include "engine/optim/optimizer.h"
#include "model/parameter_store.h"

namespace skep {

class BestWeights {
 public:
  /// Both must outlive it.
  BestWeights(ParameterStore& parameters, Optimizer& optimizer);

  /// Copies what is there after `step` steps, unless an earlier validation loss was lower.
  void offer(std::int64_t step, double validation_loss);
  /// When the best was copied, -1: never; and its validation loss.
  std::int64_t step() const { return step_; }
  double validation_loss() const { return validation_loss_; }
  /// Parameters and the optimizer's state are as they were then.
  void restore();
  void archive(Archive& archive);

 private:
  void copy_state();

  ParameterStore& parameters_;
  Optimizer& optimizer_;
  std::int64_t step_ = -1;
  double validation_loss_ = std::numeric_limits<double>::infinity();
  // In the order in which they were visited; empty before the first copy.
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::vector<std::pair<std::string, std::int64_t>> counters_;
};

}  // namespace skep
