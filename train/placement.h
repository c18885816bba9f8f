#pragma once
// Which host and CPUs each rank has got, and how many threads it should run there. One rank knows
// only its own place; what to make of it takes those of its neighbours too.
#include <cstdint>
#include <string>
#include <vector>

#include "mpi_comm/communicator.h"

namespace skep {

struct Placement {
  std::string host;
  std::vector<int> processors;  ///< numbers of the CPUs the rank may run on
  int wished_threads = 0;       ///< run.threads, or else OMP_NUM_THREADS; 0: none of them
};

/// Of this process. `run_threads`: the value of run.threads, 0 for unset.
Placement find_placement(std::int64_t run_threads);

/// Collective. Of all ranks.
std::vector<Placement> gather_placements(Communicator& comm, const Placement& mine);

/// What a rank gets of its CPUs when ranks that may run on the same one share it evenly; at least
/// 1.
int fair_share(const std::vector<Placement>& ranks, int rank);

/// What was wished for, or else the fair share.
int threads_of(const std::vector<Placement>& ranks, int rank);

/// One host and its ranks, in their order.
struct HostGroup {
  std::string name;
  std::vector<int> ranks;
  std::vector<int> processors;  ///< CPUs that any of them may run on
  int threads = 0;              ///< of all of them together
};

/// In the order of their first ranks.
std::vector<HostGroup> group_by_host(const std::vector<Placement>& ranks);

/// "2 ranks on alpha", "8 ranks on 2 hosts: 4 on alpha, 4 on beta".
std::string describe_hosts(const std::vector<HostGroup>& hosts);

/// What is wrong and how to mend it when a host's ranks run more threads than it gives them CPUs,
/// although fewer threads would do; empty when all is well.
std::string find_crowding(const std::vector<HostGroup>& hosts);

/// The processor as it names itself, "unknown" if it does not.
std::string processor_name();

/// "1 rank", "3 ranks".
std::string counted(std::int64_t count, const std::string& noun);

}  // namespace skep
