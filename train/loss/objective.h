#pragma once
// What training minimises, on one micro-batch.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/archive.h"
#include "engine/core/tensor.h"
#include "model/language_model.h"
#include "train/data/loader.h"
#include "train/loss/task_weights.h"

namespace skep {

/// One of the losses that are minimised together.
struct Task {
  std::string name;
  double loss_sum = 0;                      ///< of the last training batch, over its tokens
  double weight = 1;                        ///< its factor, as it is now
  std::optional<double> log_variance = {};  ///< where the factor is learned
};

class Objective {
 public:
  virtual ~Objective() = default;
  /// The sum of token losses of the batch, those of its common rows times their weight: a scalar on
  /// the current tape (if there is one).
  virtual Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) = 0;
  /// What the last training loss was made of; empty: it was one loss.
  virtual std::vector<Task> tasks() const { return {}; }
  /// Holds parameters that are trained with the model's; or null.
  virtual Module* module() { return nullptr; }
  /// State that is not in the model's files.
  virtual void archive(Archive&) {}
};

/// How a training batch passes through the model; `seed` is the run's.
Pass training_pass(const Batch& batch, std::uint64_t seed);

/// Next-token cross-entropy; while training, plus z_weight (log-sum-exp of the logits)² a token.
/// The two are its tasks.
std::unique_ptr<Objective> make_next_token(double z_weight = 0,
                                           TaskWeighting weighting = TaskWeighting::fixed);

}  // namespace skep
