#pragma once
// Finds ranks for which the others wait. Where ranks meet in every step, all steps are equally
// long: the slow rank is the one that waits least, because it computes longest.
#include <span>
#include <vector>

namespace skep {

/// A rank that computes longer than the others, and for how long at a time.
struct Straggler {
  int rank = 0;
  double compute_seconds = 0;         ///< a step
  double others_compute_seconds = 0;  ///< the median of the other ranks
};

class StragglerWatch {
 public:
  static constexpr double clearly_slower = 1.2;  ///< times the other ranks' median
  static constexpr double least_seconds = 1e-3;  ///< a difference below is never worth a word
  static constexpr int looks_in_a_row = 3;

  /// `compute_seconds`: of each rank, for the typical one of some steps. Gives the ranks that have
  /// now been clearly slower for some looks in a row; each once, until it has caught up.
  std::vector<Straggler> look(std::span<const double> compute_seconds);

 private:
  std::vector<int> slow_looks_;  // of each rank, in a row
};

/// Of values in any order; 0 when there are none. The mean of the middle two of an even number.
double median(std::vector<double> values);

}  // namespace skep
