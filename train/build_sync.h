#pragma once
// The part of build.h that says how ranks meet: from names to wires, rules, reductions and codecs.
#include <memory>
#include <vector>

#include "train/config.h"
#include "train/schedule/phase_schedule.h"
#include "train/sync/reduction.h"

namespace skep {

/// How gradients are summed. `elements`: of the flat gradients.
std::shared_ptr<Reduction> make_reduction(const Config& config, std::int64_t elements);

/// The phases of a run; all that sum gradients share the reduction. `hosts`: the host of each rank.
std::unique_ptr<PhaseSchedule> make_phases(const Config& config, int ranks,
                                           const std::vector<int>& hosts,
                                           const std::shared_ptr<Reduction>& reduction,
                                           double steps_per_epoch);

}  // namespace skep
