#include "mpi_comm/topologies/ring.h"

namespace skep {
namespace {

const TopologyEntry entry{"ring", without_settings<Ring>};

// N-1 rounds; in round r every position forwards the block that started `r` positions behind
// `first`, counted from itself.
Plan go_around(const Group& group, const std::vector<Range>& blocks, int first, OnArrival action) {
  Plan plan;
  for (int r = 0; r < group.size() - 1; ++r) {
    const int out = group.wrap(group.position + first - r), in = group.wrap(out - 1);
    Round& round = plan.rounds.emplace_back();
    round.on_arrival = action;
    round.send(group.rank_at(group.position + 1), blocks[static_cast<std::size_t>(out)]);
    round.receive(group.rank_at(group.position - 1), blocks[static_cast<std::size_t>(in)]);
  }
  return plan;
}

}  // namespace

Plan Ring::plan_reduce_scatter(const Group& group, std::size_t count) const {
  // Starting one behind, the last block to arrive is the own one, then complete.
  return go_around(group, parts_of(count, group.size()), -1, OnArrival::combine);
}

Plan Ring::plan_all_gather(const Group& group, const std::vector<Range>& blocks) const {
  return go_around(group, blocks, 0, OnArrival::copy);
}

Plan Ring::plan_all_reduce(const Group& group, std::size_t count) const {
  Plan plan = plan_reduce_scatter(group, count);
  plan.append(plan_all_gather(group, parts_of(count, group.size())));
  return plan;
}

Plan Ring::plan_broadcast(const Group& group, int root, std::size_t count) const {
  const int hops = group.size() - 1, segments = group.size();
  const int distance = group.wrap(group.position - root);  // hops from the root to here
  Plan plan;
  for (int r = 0; r < hops + segments - 1; ++r) {
    Round& round = plan.rounds.emplace_back();
    const int out = r - distance, in = out + 1;  // segment s leaves distance d in round s + d
    if (distance < hops && out >= 0 && out < segments)
      round.send(group.rank_at(group.position + 1), part(count, out, segments));
    if (distance > 0 && in >= 0 && in < segments)
      round.receive(group.rank_at(group.position - 1), part(count, in, segments));
  }
  return plan;
}

}  // namespace skep
