#pragma once
// Accumulate: the gradients of `period` steps add up on each rank, and the last of them sums them
// over all ranks and updates. It helps where the wires are slow and a larger batch does no harm:
// it is exactly every_step with period times the batch, so learning rates should be set for that.
// Sends 1/period of every_step's bytes (and 24 bytes a step, so that every step can be reported)
// and takes no memory; a checkpoint in mid-period holds each rank's partial gradient (Ott et al.,
// "Scaling neural machine translation", WMT 2018).
#include "train/sync/bucketed_sum.h"

namespace skep {

std::unique_ptr<GradientSync> make_accumulate(std::int64_t period,
                                              std::shared_ptr<Reduction> reduction,
                                              const BucketedSettings& settings);

}  // namespace skep
