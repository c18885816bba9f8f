#include "train/schedule/phase_schedule.h"

#include "engine/core/error.h"

namespace skep {

PhaseSchedule::PhaseSchedule(std::vector<Phase> phases) : phases_(std::move(phases)) {
  check(!phases_.empty(), "a run needs a phase");
  for (std::size_t i = 1; i < phases_.size(); ++i)
    if (phases_[i].until_step <= phases_[i - 1].until_step)
      fail(
          ErrorKind::usage,
          "phase {} ends at step {}, but the one before it lasts until step {}: phases follow each "
          "other",
          i + 1, phases_[i].until_step, phases_[i - 1].until_step);
}

Phase& PhaseSchedule::at(std::int64_t step) {
  std::size_t i = 0;
  while (i + 1 < phases_.size() && step >= phases_[i].until_step) ++i;
  return phases_[i];
}

void PhaseSchedule::archive(Archive& archive) {
  for (Phase& phase : phases_) phase.sync->archive(archive);
}

}  // namespace skep
