#pragma once
// What training minimises, on one micro-batch.
#include <memory>

#include "engine/core/tensor.h"
#include "model/language_model.h"
#include "train/data/loader.h"

namespace skep {

class Objective {
 public:
  virtual ~Objective() = default;
  /// The sum of token losses of the batch, those of its common rows times their weight: a scalar on
  /// the current tape (if there is one).
  virtual Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) = 0;
};

/// How a training batch passes through the model; `seed` is the run's.
Pass training_pass(const Batch& batch, std::uint64_t seed);

/// Next-token cross-entropy; while training, plus z_weight (log-sum-exp of the logits)² a token.
std::unique_ptr<Objective> make_next_token(double z_weight = 0);

}  // namespace skep
