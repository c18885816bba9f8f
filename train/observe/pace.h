#pragma once
// How long the rest of a run will take, as the last steps went. The typical step is the mean of the
// middle half of the last 64: a slow first step or a busy moment does not move it. What passes
// between steps (validations, checkpoints) is added in proportion.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skep {

class Pace {
 public:
  /// One more step took `step_seconds`; `elapsed_seconds` have passed since the first one began.
  void add(double step_seconds, double elapsed_seconds);

  /// Of the recent steps; 0 before the first.
  double typical_step_seconds() const;
  double seconds_left(std::int64_t steps) const;

 private:
  static constexpr std::size_t window = 64;

  std::vector<double> recent_;
  std::size_t oldest_ = 0;
  double stepping_seconds_ = 0, elapsed_seconds_ = 0;
};

}  // namespace skep
