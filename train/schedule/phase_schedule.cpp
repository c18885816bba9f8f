#include "train/schedule/phase_schedule.h"

#include <algorithm>

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
  std::int64_t first = 0;
  for (Phase& phase : phases_) {
    phase.first_step = first;
    if (&phase == &phases_.back()) break;
    const std::int64_t period = phase.sync->period();
    const std::int64_t length = std::max<std::int64_t>(0, phase.until_step - first);
    phase.until_step = first += (length + period - 1) / period * period;
  }
}

Phase& PhaseSchedule::at(std::int64_t step) {
  std::size_t i = 0;
  while (i + 1 < phases_.size() && step >= phases_[i].until_step) ++i;
  return phases_[i];
}

void PhaseSchedule::archive(Archive& archive, ParameterStore& store, std::int64_t steps_done) {
  if (steps_done > 0) at(steps_done - 1).sync->archive(archive, store);
}

}  // namespace skep
