#pragma once
// Every step: all gradients are summed over all ranks, one update follows. Costs one all-reduce of
// the gradients per step and no memory; the rule that the others are measured against.
#include "train/sync/bucketed_sum.h"

namespace skep {

std::unique_ptr<GradientSync> make_every_step(std::shared_ptr<Reduction> reduction,
                                              const BucketedSettings& settings);

}  // namespace skep
