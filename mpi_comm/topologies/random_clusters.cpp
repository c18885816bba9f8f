#include "mpi_comm/topologies/random_clusters.h"

#include <algorithm>
#include <utility>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/splitmix64.h"

namespace skep {
namespace {

const TopologyEntry entry{"random_clusters",
                          [](const TopologySettings& settings) -> std::unique_ptr<Topology> {
                            return std::make_unique<RandomClusters>(settings.cluster_size);
                          }};

}  // namespace

RandomClusters::RandomClusters(int cluster_size) : cluster_size_(cluster_size) {
  if (cluster_size < 1)
    comm_fail(CommFailure::usage,
              "topology random_clusters: clusters of {} ranks; choose 1 or more", cluster_size);
}

// Every rank draws a lot; they line up by their lots, and the line is cut into clusters.
std::vector<std::vector<int>> draw_clusters(const Place& at, int cluster_size) {
  const std::uint64_t state = splitmix64(at.seed, static_cast<std::uint64_t>(at.step));
  std::vector<std::pair<std::uint64_t, int>> line;
  for (int rank = 0; rank < at.size; ++rank)
    line.emplace_back(splitmix64(state, static_cast<std::uint64_t>(rank)), rank);
  std::sort(line.begin(), line.end());
  std::vector<std::vector<int>> clusters;
  const int number = at.size / cluster_size + (at.size % cluster_size > 0 ? 1 : 0);
  for (const Range range : parts_of(line.size(), number)) {
    std::vector<int>& cluster = clusters.emplace_back();
    for (std::size_t i = range.begin; i < range.end; ++i) cluster.push_back(line[i].second);
    std::sort(cluster.begin(), cluster.end());
  }
  return clusters;
}

}  // namespace skep
