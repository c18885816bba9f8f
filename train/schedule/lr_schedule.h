#pragma once
// The learning rate as a function of the step. Both schedules begin with a linear warmup of W
// steps,
//   lr (step + 1) / (W + 1),
// which never is 0 and reaches lr at step W.
#include <cstdint>

namespace skep {

struct LrSchedule {
  virtual ~LrSchedule() = default;

  /// The learning rate of step 0, 1, 2, …
  virtual double at(std::int64_t step) const = 0;
};

/// Warmup, then lr for ever.
class ConstantLr : public LrSchedule {
 public:
  ConstantLr(double lr, std::int64_t warmup) : lr_(lr), warmup_(warmup) {}
  double at(std::int64_t step) const override;

 private:
  double lr_;
  std::int64_t warmup_;
};

/// Warmup, then half a cosine from lr down to min_lr at step `decay_steps`, then min_lr
/// (Loshchilov and Hutter, "SGDR", ICLR 2017, without restarts; the form used by nanoGPT):
///   min_lr + (lr - min_lr) (1 + cos(pi (step - W) / (decay_steps - W))) / 2
class CosineLr : public LrSchedule {
 public:
  CosineLr(double lr, double min_lr, std::int64_t warmup, std::int64_t decay_steps)
      : lr_(lr), min_lr_(min_lr), warmup_(warmup), decay_steps_(decay_steps) {}
  double at(std::int64_t step) const override;

 private:
  double lr_;
  double min_lr_;
  std::int64_t warmup_;
  std::int64_t decay_steps_;
};

}  // namespace skep
