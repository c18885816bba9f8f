#pragma once
// Random clusters: at every step the ranks are dealt anew into clusters, and only the ranks of a
// cluster average. all_reduce: the full mesh inside a cluster of s ranks, 2 rounds and 2m(s-1)/s
// bytes sent per rank: with s = 4 at most a quarter less than all together, but nobody waits for
// more than three others and few messages cross a shared uplink.
// With K clusters the variance between the ranks shrinks to (K-1)/(N-1) a step, on average.
// A relative: gossip with periodic global averaging (Chen et al., ICML 2021).
#include "mpi_comm/topologies/full_mesh.h"

namespace skep {

/// The ranks in as many clusters as needed of near-equal sizes, none above cluster_size. Drawn
/// from the place's seed and step alone.
std::vector<std::vector<int>> draw_clusters(const Place& at, int cluster_size);

class RandomClusters : public FullMesh {
 public:
  /// CommError(usage) for a size below 1.
  explicit RandomClusters(int cluster_size);
  std::string_view name() const override { return "random_clusters"; }
  std::vector<std::vector<int>> groups(const Place& at) const override {
    return draw_clusters(at, cluster_size_);
  }

 private:
  int cluster_size_;
};

}  // namespace skep
