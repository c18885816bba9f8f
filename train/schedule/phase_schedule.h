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
};

class PhaseSchedule {
 public:
  /// In order; each ends later than the one before, the last never. Error(usage) otherwise.
  explicit PhaseSchedule(std::vector<Phase> phases);
  Phase& at(std::int64_t step);
  void archive(Archive& archive);
  const std::vector<Phase>& all() const { return phases_; }

 private:
  std::vector<Phase> phases_;
};

}  // namespace skep
