#pragma once
// Multi-view loss: each rank's batch is a view of the data, and the step minimises
// (1/t) log(Σ n_r exp(t l_r) / Σ n_r) over the ranks' mean losses l_r of n_r tokens, instead of
// their mean (tilted empirical risk, Li et al., arXiv 2007.01162). A temperature t > 0 helps the
// views that do worst, t < 0 damps outliers, 0 is plain data parallelism. Costs 16 bytes to every
// other rank a step, before backward, and two numbers a rank of memory.
#include <span>
#include <vector>

#include "engine/core/archive.h"
#include "mpi_comm/communicator.h"

namespace skep {

/// What one rank's view of a step came to.
struct ViewLoss {
  double loss_sum = 0;
  double tokens = 0;
};

/// The factor s_r = e_r Σn / Σ(n_q e_q), e_r = exp(t (l_r - max l)), of each rank's token losses:
/// times these the sum of all has the gradient of the objective above, times Σn. All are 1 where
/// some loss is not finite; a view without tokens has no say.
std::vector<double> tilted_weights(std::span<const ViewLoss> views, double temperature);

struct ViewSettings {
  double temperature = 1;
  /// Share of the past in the losses that weights are made of; 0: only the step itself counts.
  double ema = 0;
  /// What weights may be made of: losses of the step itself, or, where backward begins before all
  /// of them are known, those up to the step before.
  enum class Known { this_step, past_steps } known = Known::this_step;
};

class ViewWeights {
 public:
  /// Past steps without memory of them are refused: Error(usage).
  explicit ViewWeights(const ViewSettings& settings);

  /// The factor of this rank's losses, between forward and backward of a micro-batch. Collective
  /// where it is made of this step's losses.
  double weight(const ViewLoss& own, Communicator& comm);
  /// The factors of all ranks in the last micro-batch; empty when all were 1.
  const std::vector<double>& factors() const { return factors_; }
  /// After the last micro-batch. Collective where weights are made of past steps.
  void end_step(const ViewLoss& own, Communicator& comm);

  /// The same on all ranks; Error(data) with another number of them.
  void archive(Archive& archive, int ranks);

 private:
  void look(const ViewLoss& own, Communicator& comm);

  ViewSettings settings_;
  std::vector<ViewLoss> views_;  // what weights are made of, by rank; empty: all are 1
  std::vector<double> factors_;
  std::vector<double> means_;  // of each rank's losses, over past steps
  Tensor state_;               // of both: an archive that saves reads it when it ends
};

}  // namespace skep
