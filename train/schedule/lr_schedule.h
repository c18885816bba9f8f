#pragma once
// The learning rate as a pure function of the step: the same on every rank, and after every
// restart. All schedules begin with a linear warmup of W steps, lr (step + 1) / (W + 1), which
// never is 0 and reaches lr at step W; what follows counts t = step - W.
#include <cstdint>
#include <memory>
#include <optional>

namespace skep {

/// A cycle that is over.
struct EndedCycle {
  std::int64_t index = 0;
  double jitter = 0;  ///< u of its highest rate, lr (1 + u)
};

struct LrSchedule {
  virtual ~LrSchedule() = default;
  /// The learning rate of step 0, 1, 2, …
  virtual double at(std::int64_t step) const = 0;
  /// The cycle that ends where `step` begins, of schedules that change from cycle to cycle.
  virtual std::optional<EndedCycle> ended_before(std::int64_t /*step*/) const { return {}; }
};

/// A stretch of a schedule, counted in steps after the warmup.
struct Cycle {
  std::int64_t index = 0, begin = 0, length = 1;
};
/// The cycle t lies in: the first is `length` steps long, each next one `growth` times the one
/// before (rounded to whole steps). A length of 0 makes one endless cycle.
Cycle cycle_at(std::int64_t t, std::int64_t length, double growth);

/// The highest rate of each cycle: lr (1 + u_i), u_i uniform in ±jitter, drawn by seed and cycle.
struct Peak {
  double lr = 0, jitter = 0;
  std::uint64_t seed = 0;
  double shift(std::int64_t cycle) const;  ///< u_i
  double of(std::int64_t cycle) const { return lr * (1 + shift(cycle)); }
};

/// What the schedules share. Steps; `cycle` 0: none.
struct ScheduleSettings {
  Peak peak;
  double min_lr = 0;
  std::int64_t warmup = 0;
  std::int64_t decay_steps = 0;  ///< the step at which a decay reaches min_lr
  std::int64_t cycle = 0;
  double cycle_mult = 1;
};

/// The peak for ever; with jitter, a new one each cycle.
std::unique_ptr<LrSchedule> make_constant_lr(const ScheduleSettings& settings);
/// Half a cosine from the peak to min_lr at decay_steps, then min_lr (Loshchilov and Hutter,
/// "SGDR", ICLR 2017, without restarts; the form used by nanoGPT).
std::unique_ptr<LrSchedule> make_cosine_lr(const ScheduleSettings& settings);
/// Warmup, stable, decay (Hu et al., "MiniCPM", 2024): the peak, then a straight line to min_lr
/// over the last `cycle` steps before decay_steps, then min_lr.
std::unique_ptr<LrSchedule> make_wsd_lr(const ScheduleSettings& settings);
/// A tenth of the peak after each cycle, never below min_lr.
std::unique_ptr<LrSchedule> make_step_lr(const ScheduleSettings& settings);
/// SGDR: in each cycle of length T, min_lr + (peak - min_lr) (1 + cos(pi t / T)) / 2.
std::unique_ptr<LrSchedule> make_warm_restarts_lr(const ScheduleSettings& settings);

}  // namespace skep
