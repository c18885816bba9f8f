// The trainer between two cycles of the learning rate: it validates, notes how the cycle ended, and
// begins the next one, from better weights where there were some and schedule.restart_from asks for
// it. The loop is in trainer.cpp.
#include <limits>

#include "train/trainer.h"

namespace skep {

// Each end is dealt with once: after its step, or, where the run was stopped just then, when it
// goes on.
bool Trainer::end_cycle() {
  const auto ended = parts_.schedule->ended_before(progress_.step);
  if (!ended || progress_.cycle_end == progress_.step) return false;
  progress_.cycle_end = progress_.step;
  const double loss = validate().value_or(std::numeric_limits<double>::quiet_NaN());
  if (parts_.best) parts_.best->offer(progress_.step, loss);
  const CycleReport report{progress_.step, ended->index, ended->jitter, loss,
                           parts_.best ? parts_.best->step() : progress_.step};
  for (auto& observer : parts_.observers) observer->on_cycle(report);
  return true;
}

// Checkpoints between two cycles hold the weights of the one that ended, so this comes after them.
void Trainer::begin_cycle() {
  end_cycle();
  const bool between = parts_.schedule->ended_before(progress_.step).has_value();
  if (!between || !parts_.best || parts_.best->step() == progress_.step) return;
  parts_.best->restore();
  say(
      fmt::format("step {}: the next cycle begins with the weights after step {}, whose validation "
                  "loss {:.4f} is the lowest",
                  progress_.step, parts_.best->step(), parts_.best->validation_loss()));
}

}  // namespace skep
