#pragma once
// Task weights: how the losses of one batch, its tasks, add up to what is minimised. `fixed` takes
// the weights w_i as given. `uncertainty` learns a log-variance s_i for each task and minimises
// Σ exp(-s_i) w_i L_i + s_i a token (Kendall, Gal and Cipolla, CVPR 2018, arXiv 1705.07115, up to
// constant factors): a task that stays bad is trusted less, and + s_i keeps it from being dropped.
// Where the s_i have settled each task contributes 1, so the run minimises Σ log L_i: losses of any
// scale count alike. The s_i are parameters of the run and cost what two more weights cost.
#include <string>
#include <vector>

#include "engine/core/archive.h"
#include "model/module.h"

namespace skep {

enum class TaskWeighting { fixed, uncertainty };

class TaskWeights : public Module {
 public:
  /// `given`: w_i, 0 or more; what is learned starts there. Usable once a ParameterStore has been
  /// built over it, if they are learned.
  TaskWeights(TaskWeighting weighting, std::vector<double> given);

  /// (tasks): the losses' factors exp(-s_i) w_i; on the tape where they are learned.
  Tensor factors();
  /// What learning adds to the loss of so many tokens, tokens Σ s_i; undefined where they are
  /// fixed.
  Tensor penalty(double tokens) const;

  /// s_i; empty where the weights are fixed.
  std::vector<double> log_variances() const;
  /// The factors as they are now.
  std::vector<double> values() const;
  void archive(Archive& archive);

 protected:
  Tensor forward(const Tensor& given, const Pass& pass) override;

 private:
  std::vector<double> given_;
  const Parameter* log_variances_ = nullptr;
};

}  // namespace skep
