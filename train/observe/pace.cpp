#include "train/observe/pace.h"

#include <algorithm>
#include <numeric>

namespace skep {

void Pace::add(double step_seconds, double elapsed_seconds) {
  if (recent_.size() < window) {
    recent_.push_back(step_seconds);
  } else {
    recent_[oldest_] = step_seconds;
    oldest_ = (oldest_ + 1) % window;
  }
  stepping_seconds_ += step_seconds;
  elapsed_seconds_ = elapsed_seconds;
}

double Pace::typical_step_seconds() const {
  if (recent_.empty()) return 0;
  std::vector<double> sorted = recent_;
  std::sort(sorted.begin(), sorted.end());
  const auto cut = static_cast<std::ptrdiff_t>(sorted.size() / 4);
  const auto middle = static_cast<double>(sorted.size()) - 2 * static_cast<double>(cut);
  return std::accumulate(sorted.begin() + cut, sorted.end() - cut, 0.0) / middle;
}

double Pace::seconds_left(std::int64_t steps) const {
  const double pauses =
      stepping_seconds_ > 0 ? std::max(1.0, elapsed_seconds_ / stepping_seconds_) : 1.0;
  return static_cast<double>(steps) * typical_step_seconds() * pauses;
}

}  // namespace skep
