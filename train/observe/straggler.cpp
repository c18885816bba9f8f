#include "train/observe/straggler.h"

#include <algorithm>

namespace skep {

std::vector<Straggler> StragglerWatch::look(std::span<const double> compute_seconds) {
  slow_looks_.resize(compute_seconds.size());
  std::vector<Straggler> found;
  for (std::size_t rank = 0; rank < compute_seconds.size(); ++rank) {
    std::vector<double> others(compute_seconds.begin(), compute_seconds.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(rank));
    const double own = compute_seconds[rank], typical = median(others);
    const bool slow =
        !others.empty() && own > clearly_slower * typical && own - typical > least_seconds;
    slow_looks_[rank] = slow ? slow_looks_[rank] + 1 : 0;
    if (slow_looks_[rank] == looks_in_a_row)
      found.push_back({static_cast<int>(rank), own, typical});
  }
  return found;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace skep
