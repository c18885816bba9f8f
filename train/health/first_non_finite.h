#pragma once
// Where numbers were lost: one micro-batch runs again with a probe on every module, and the first
// output, or else the first gradient, that is infinite or NaN names its layer and op. Only steps
// that already failed are looked at, so those that are well pay nothing.
#include <string>

#include "model/parameter_store.h"
#include "train/loss/objective.h"

namespace skep {

/// What runs again: loss_scale times the loss, as the step had it.
struct Suspect {
  LanguageModel& model;
  Objective& objective;
  ParameterStore& parameters;
  double loss_scale = 1;
};

/// "blocks.3.mlp.up (linear) is the first output that is not finite", or a gradient, in the order
/// they are computed; empty when all are finite. Adds to the store's gradients, and tells nobody
/// when they are complete. Not collective.
std::string first_non_finite(const Suspect& suspect, const Batch& batch, const Pass& pass);

}  // namespace skep
