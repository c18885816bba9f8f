#pragma once
// --explain: what a run will need, worked out before step 0 from sizes alone, and beside it what
// the first step really took. Where the two differ, one of them is wrong: that is the point.
#include <memory>
#include <string>

#include "train/observe/observer.h"
#include "train/trainer.h"

namespace skep {

/// What one step costs this rank.
struct StepCosts {
  double activation_bytes = 0;  ///< most memory in use at once beyond weights and optimizer
  double product_flops = 0;     ///< multiplications and additions in matrix products
  double bytes_sent = 0;
};

/// From the configuration, the batch and the plan.
StepCosts predict_step_costs(const Parts& parts);

/// One line a parameter: path, shape, bytes, and where it lies in the flat blocks.
std::string describe_parameters(const ParameterStore& parameters);

/// Prints both now, and the measured costs after the first step. For rank 0.
std::unique_ptr<Observer> make_explainer(const Parts& parts);

}  // namespace skep
