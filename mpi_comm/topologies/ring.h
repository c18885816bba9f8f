#pragma once
// Ring: everyone sends to the next and receives from the previous; a part travels once around to
// be summed and once more to be stored (Patarasuk and Yuan, JPDC 2009).
// all_reduce: 2(N-1) rounds, 2m(N-1)/N bytes sent per rank: the least possible, at a latency that
// grows with N. broadcast: a pipelined chain of N-1 hops, m bytes per rank but the last.
#include "mpi_comm/topology.h"

namespace skep {

class Ring : public Topology {
 public:
  std::string_view name() const override { return "ring"; }

 protected:
  Plan plan_all_reduce(const Group& group, std::size_t count) const override;
  Plan plan_reduce_scatter(const Group& group, std::size_t count) const override;
  Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const override;
  Plan plan_broadcast(const Group& group, int root, std::size_t count) const override;
};

}  // namespace skep
