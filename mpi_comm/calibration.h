#pragma once
// Measures the wires at the start of a run: alpha, beta and gamma from exchanges between
// neighbours, and from which size on plans beat the library's own all_reduce. A fraction of a
// second; every time is the slowest rank's, so all ranks hold the same numbers and choose alike.
#include <cstddef>
#include <string>
#include <vector>

#include "mpi_comm/cost_model.h"
#include "mpi_comm/topology.h"

namespace skep {

class Communicator;

struct Calibration {
  struct Comparison {
    std::size_t bytes;  ///< of the buffer
    double plans_seconds, library_seconds;
  };
  LinkCosts costs;
  std::vector<CostSample> samples;      ///< what the costs are fitted to
  std::vector<Comparison> all_reduces;  ///< by rising size; empty without a library

  /// By the measured sizes around this one, ratios interpolated over the logarithm of the size.
  /// Measured for all_reduce, taken for the other collectives too: their parts are alike.
  bool library_is_faster(std::size_t bytes) const;
};

/// Exchanges to the right-hand neighbour, 8 bytes to 2 MiB, until the time is used up, and the fit.
/// Collective. One rank has no wires: its costs are those of one microsecond and 1 GB/s.
Calibration fit_wires(Communicator& comm, double limit_seconds = 0.15);

/// fit_wires, and the comparison with the library. Collective; about 0.3 seconds.
Calibration calibrate(Communicator& comm, const TopologySettings& settings = {},
                      double limit_seconds = 0.3);

}  // namespace skep
