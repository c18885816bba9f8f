#pragma once
// Halving and doubling: partners ever closer swap halves of what is left until each holds one part
// of the sum; the way back doubles what each has (Rabenseifner, ICCS 2004).
// all_reduce: 2 log2 N rounds, 2m(N-1)/N bytes sent per rank: the bytes of the ring in few rounds.
// When N is no power of two, neighbours pair up until the rest is one: before the first round the
// second of a pair hands everything to the first, after the last it gets the result: 2 more rounds,
// m more bytes. broadcast: parts are dealt down by halving and gathered by doubling.
#include "mpi_comm/topology.h"

namespace skep {

class HalvingDoubling : public Topology {
 public:
  std::string_view name() const override { return "halving_doubling"; }

 protected:
  Plan plan_all_reduce(const Group& group, std::size_t count) const override;
  Plan plan_reduce_scatter(const Group& group, std::size_t count) const override;
  Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const override;
  Plan plan_broadcast(const Group& group, int root, std::size_t count) const override;
};

}  // namespace skep
