#include "train/schedule/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/core/random.h"

namespace skep {
namespace {

/// Half a cosine from `high` to `low` as `done` goes from 0 to 1.
double anneal(double high, double low, double done) {
  return low + 0.5 * (1 + std::cos(std::numbers::pi * done)) * (high - low);
}

double share(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

class AfterWarmup : public LrSchedule {
 public:
  explicit AfterWarmup(const ScheduleSettings& settings) : s(settings) {}
  double at(std::int64_t step) const final {
    if (step < s.warmup) return s.peak.of(0) * share(step + 1, s.warmup + 1);
    return after_warmup(step - s.warmup);
  }

 protected:
  virtual double after_warmup(std::int64_t t) const = 0;
  /// Where a decay ends, in steps after the warmup.
  std::int64_t end() const { return s.decay_steps - s.warmup; }
  double peak_at(std::int64_t t) const {
    return s.peak.of(cycle_at(t, s.cycle, s.cycle_mult).index);
  }

  const ScheduleSettings s;
};

class ConstantLr final : public AfterWarmup {
  using AfterWarmup::AfterWarmup;
  double after_warmup(std::int64_t t) const override { return peak_at(t); }
};

class CosineLr final : public AfterWarmup {
  using AfterWarmup::AfterWarmup;
  double after_warmup(std::int64_t t) const override {
    return t >= end() ? s.min_lr : anneal(peak_at(t), s.min_lr, share(t, end()));
  }
};

class WsdLr final : public AfterWarmup {
  using AfterWarmup::AfterWarmup;
  double after_warmup(std::int64_t t) const override {
    const std::int64_t left = end() - t;
    if (left <= 0) return s.min_lr;
    const double peak = s.peak.of(0);
    return left >= s.cycle ? peak : s.min_lr + (peak - s.min_lr) * share(left, s.cycle);
  }
};

class InCycles : public AfterWarmup {
 public:
  using AfterWarmup::AfterWarmup;
  std::optional<EndedCycle> ended_before(std::int64_t step) const final {
    const std::int64_t t = step - s.warmup;
    if (t <= 0) return {};
    const Cycle cycle = cycle_at(t, s.cycle, s.cycle_mult);
    if (cycle.begin != t) return {};
    return EndedCycle{cycle.index - 1, s.peak.shift(cycle.index - 1)};
  }
};

class StepLr final : public InCycles {
  using InCycles::InCycles;
  double after_warmup(std::int64_t t) const override {
    const std::int64_t cycle = cycle_at(t, s.cycle, s.cycle_mult).index;
    return std::max(s.min_lr, s.peak.of(cycle) * std::pow(0.1, static_cast<double>(cycle)));
  }
};

class WarmRestartsLr final : public InCycles {
  using InCycles::InCycles;
  double after_warmup(std::int64_t t) const override {
    const Cycle cycle = cycle_at(t, s.cycle, s.cycle_mult);
    return anneal(s.peak.of(cycle.index), s.min_lr, share(t - cycle.begin, cycle.length));
  }
};

}  // namespace

// Walked, not computed by a logarithm, which rounds to the wrong cycle at the seams.
Cycle cycle_at(std::int64_t t, std::int64_t length, double growth) {
  Cycle cycle{0, 0, length > 0 ? length : std::numeric_limits<std::int64_t>::max()};
  if (growth == 1) {
    cycle.index = t / cycle.length;
    cycle.begin = cycle.index * cycle.length;
    return cycle;
  }
  for (double next = static_cast<double>(cycle.length); t - cycle.begin >= cycle.length;) {
    cycle.begin += cycle.length;
    ++cycle.index;
    next = std::min(next * growth, 1e15);
    cycle.length = std::max<std::int64_t>(1, std::llround(next));
  }
  return cycle;
}

double Peak::shift(std::int64_t cycle) const {
  if (jitter == 0) return 0;
  const double u = random_uniform(derive_key(seed, "lr jitter"), static_cast<std::uint64_t>(cycle));
  return jitter * (2 * u - 1);
}

std::unique_ptr<LrSchedule> make_constant_lr(const ScheduleSettings& s) {
  return std::make_unique<ConstantLr>(s);
}
std::unique_ptr<LrSchedule> make_cosine_lr(const ScheduleSettings& s) {
  return std::make_unique<CosineLr>(s);
}
std::unique_ptr<LrSchedule> make_wsd_lr(const ScheduleSettings& s) {
  return std::make_unique<WsdLr>(s);
}
std::unique_ptr<LrSchedule> make_step_lr(const ScheduleSettings& s) {
  return std::make_unique<StepLr>(s);
}
std::unique_ptr<LrSchedule> make_warm_restarts_lr(const ScheduleSettings& s) {
  return std::make_unique<WarmRestartsLr>(s);
}

}  // namespace skep
