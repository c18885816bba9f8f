#include "train/schedule/lr_schedule.h"

#include <cmath>
#include <numbers>

namespace skep {
namespace {

double warm_up(double lr, std::int64_t step, std::int64_t warmup) {
  return lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
}

}  // namespace

double ConstantLr::at(std::int64_t step) const {
  return step < warmup_ ? warm_up(lr_, step, warmup_) : lr_;
}

double CosineLr::at(std::int64_t step) const {
  if (step < warmup_) return warm_up(lr_, step, warmup_);
  if (step >= decay_steps_) return min_lr_;
  const double progress =
      static_cast<double>(step - warmup_) / static_cast<double>(decay_steps_ - warmup_);
  return min_lr_ + 0.5 * (1 + std::cos(std::numbers::pi * progress)) * (lr_ - min_lr_);
}

}  // namespace skep
