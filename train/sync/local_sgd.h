#pragma once
// Local SGD: every rank takes optimizer steps on its own gradients, and after every `period`-th
// step the ranks of a group average their parameters (Stich, arXiv 1805.09767). Sends 1/period of
// the bytes of a sum every step; between averages the replicas drift apart, each with its own
// optimizer state. AdamW on one rank's share of the batch wants a rate of √ranks times that of a
// sum every step: its steps divide by a gradient that much noisier. With a period of 1 and a
// topology that groups only some ranks it is gossip averaging: the mean over all ranks stays what
// it was at every average, since the groups are a partition.
#include "train/sync/gradient_sync.h"

namespace skep {

std::unique_ptr<GradientSync> make_local_sgd(std::int64_t period);

}  // namespace skep
