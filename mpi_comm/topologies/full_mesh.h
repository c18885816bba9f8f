#pragma once
// Full mesh: everyone sends each part straight to the rank that sums it, and the sums straight
// back. all_reduce: 2 rounds, 2m(N-1)/N bytes sent per rank: the bytes of the ring at the least
// latency. Many senders at once overrun a receiver (incast), so at most 16 peers are served in one
// round. broadcast: the root deals out the parts, then all exchange them: 2 rounds, below 2m at the
// root.
#include "mpi_comm/topology.h"

namespace skep {

class FullMesh : public Topology {
 public:
  static constexpr int window = 16;  ///< peers in one round
  std::string_view name() const override { return "full_mesh"; }

 protected:
  Plan plan_all_reduce(const Group& group, std::size_t count) const override;
  Plan plan_reduce_scatter(const Group& group, std::size_t count) const override;
  Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const override;
  Plan plan_broadcast(const Group& group, int root, std::size_t count) const override;
  Plan plan_all_to_all(const Group& group, const std::vector<Range>& sends,
                       const std::vector<Range>& receives) const override;
};

}  // namespace skep
