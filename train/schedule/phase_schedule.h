#pragma once
// Phases: which wires and which rule of synchronisation a step uses. A run is a sequence of them,
// each up to a step; most runs have one. All ranks see the same phases at the same steps.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "mpi_comm/topology.h"
#include "train/sync/gradient_sync.h"

namespace skep {

struct Phase {
  std::string name;  ///< for the log and the traffic counters: "1: full_mesh, every_step"
  std::unique_ptr<Topology> topology;
  std::unique_ptr<GradientSync> sync;
  std::int64_t until_step = std::numeric_limits<std::int64_t>::max();  ///< the first step not in it
  std::int64_t first_step = 0;                                         ///< set by the schedule
};

class PhaseSchedule {
 public:
  /// In order; each ends later than the one before, the last never. Error(usage) otherwise. A phase
  /// lasts until its rule's period is over.
  explicit PhaseSchedule(std::vector<Phase> phases);
  Phase& at(std::int64_t step);
  /// The state of the rule that the last of `steps_done` steps used.
  void archive(Archive& archive, ParameterStore& store, std::int64_t steps_done);
  const std::vector<Phase>& all() const { return phases_; }

 private:
  std::vector<Phase> phases_;
};

}  // namespace skep
