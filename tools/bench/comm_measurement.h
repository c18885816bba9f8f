#pragma once
// Measures collectives among the ranks of a run: ours over every topology, and MPI's own beside
// them. Collective calls throughout.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi_comm/calibration.h"
#include "mpi_comm/communicator.h"

namespace skep {

/// Whose collectives are timed.
struct Contender {
  std::string name;
  const Topology* topology;
  Carrier carrier = Carrier::plans;
};

/// One line of the table. The time is the median over repetitions of the slowest rank's time.
struct CommMeasurement {
  std::string name;  ///< of the contender
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  std::int64_t bytes = 0;  ///< of the whole buffer
  double seconds = 0;
  std::int64_t wrong = 0;  ///< elements that are not exactly what they should be, on all ranks

  /// Bytes of the buffer a second.
  double algorithm_bandwidth() const { return static_cast<double>(bytes) / seconds; }
  /// Bytes that must pass a rank's port, a second: comparable between collectives and rank counts.
  double bus_bandwidth() const;
};

/// The buffer of a rank before the collective: whole numbers so small that every sum is exact.
std::vector<float> comm_input(Collective collective, int rank, int ranks, std::size_t count);
/// Elements that differ from the exact result, of those that this rank should hold.
std::int64_t count_wrong(Collective collective, int rank, int ranks, std::span<const float> data);

/// All contenders on one size, in turn, so that what disturbs the machine disturbs all.
std::vector<CommMeasurement> measure_size(Communicator& comm, Collective collective,
                                          const std::vector<Contender>& contenders,
                                          const Calibration& calibration, std::int64_t bytes,
                                          std::int64_t repetitions);

}  // namespace skep
