#pragma once
// Hierarchical: first the ranks of a host add up among themselves, each a share of the blocks; then
// those with the same share on different hosts add up theirs and swap the sums; last, the ranks of
// a host swap what they got (as in Jia et al., arXiv 1807.11205).
// all_reduce: 4 rounds, 2m(N-1)/N bytes sent per rank, as the full mesh; but with L ranks on each
// of H hosts all but 2m(H-1)/(HL) of them stay on the host. Hosts of unequal size take part with
// the same plan, some ranks with a larger share. broadcast: the root deals out the blocks, then as
// above. At most 16 peers are served in one round.
#include "mpi_comm/topology.h"

namespace skep {

class Hierarchical : public Topology {
 public:
  /// The host of each rank of the run; empty: all on one.
  explicit Hierarchical(std::vector<int> hosts) : hosts_(std::move(hosts)) {}
  std::string_view name() const override { return "hierarchical"; }
  std::string note(int size) const override;

 protected:
  Plan plan_all_reduce(const Group& group, std::size_t count) const override;
  Plan plan_reduce_scatter(const Group& group, std::size_t count) const override;
  Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const override;
  Plan plan_broadcast(const Group& group, int root, std::size_t count) const override;

 private:
  int host_of(int rank) const;

  std::vector<int> hosts_;
};

}  // namespace skep
