#pragma once
// Every topology that tests shall run over, at a number of ranks: each name with its default
// settings, and those that listen to settings with several.
#include <memory>
#include <string>
#include <vector>

#include "mpi_comm/topology.h"

namespace skep {

struct TopologyCase {
  std::string label;
  std::unique_ptr<Topology> topology;
};

inline std::vector<TopologyCase> topology_cases(int ranks) {
  std::vector<TopologyCase> cases;
  for (const std::string& name : topology_names()) cases.push_back({name, make_topology(name)});
  cases.push_back({"random_clusters of 2", make_topology("random_clusters", {.cluster_size = 2})});
  std::vector<int> pairs, turns, uneven;
  for (int rank = 0; rank < ranks; ++rank) {
    pairs.push_back(rank / 2);         // 0 0 1 1 2 2 …
    turns.push_back(rank % 2);         // 0 1 0 1 0 1 …
    uneven.push_back((rank + 3) / 4);  // 0 1 1 1 1 2 …
  }
  cases.push_back({"hierarchical, pairs", make_topology("hierarchical", {.hosts = pairs})});
  cases.push_back({"hierarchical, in turns", make_topology("hierarchical", {.hosts = turns})});
  cases.push_back({"hierarchical, uneven", make_topology("hierarchical", {.hosts = uneven})});
  return cases;
}

/// Steps that differ in who is with whom; one is enough where everybody always is.
inline std::vector<long> steps_of(const Topology& topology, int ranks) {
  return topology.reach(ranks) == Reach::global ? std::vector<long>{0} : std::vector<long>{0, 1, 2};
}

}  // namespace skep
