#include "mpi_comm/topologies/full_mesh.h"

#include <algorithm>

namespace skep {
namespace {

const TopologyEntry entry{"full_mesh", [] { return std::unique_ptr<Topology>(new FullMesh); }};

// Calls visit(round, to, from) with the positions `distance` ahead and behind, for every distance.
// In each round everybody sends to as many peers as it receives from.
template <class Visit>
Plan in_windows(const Group& group, OnArrival action, Visit visit) {
  Plan plan;
  for (int first = 1; first < group.size(); first += FullMesh::window) {
    Round& round = plan.rounds.emplace_back();
    round.on_arrival = action;
    const int end = std::min(first + FullMesh::window, group.size());
    for (int distance = first; distance < end; ++distance)
      visit(round, group.wrap(group.position + distance), group.wrap(group.position - distance));
  }
  return plan;
}

}  // namespace

Plan FullMesh::plan_reduce_scatter(const Group& group, std::size_t count) const {
  const int n = group.size();
  return in_windows(group, OnArrival::combine, [&](Round& round, int to, int from) {
    round.send(group.rank_at(to), part(count, to, n));
    round.receive(group.rank_at(from), part(count, group.position, n));
  });
}

Plan FullMesh::plan_all_gather(const Group& group, const std::vector<Range>& blocks) const {
  const Range own = blocks[static_cast<std::size_t>(group.position)];
  return in_windows(group, OnArrival::copy, [&](Round& round, int to, int from) {
    round.send(group.rank_at(to), own);
    round.receive(group.rank_at(from), blocks[static_cast<std::size_t>(from)]);
  });
}

Plan FullMesh::plan_all_reduce(const Group& group, std::size_t count) const {
  Plan plan = plan_reduce_scatter(group, count);
  plan.append(plan_all_gather(group, parts_of(count, group.size())));
  return plan;
}

Plan FullMesh::plan_broadcast(const Group& group, int root, std::size_t count) const {
  const int n = group.size();
  Plan deal = in_windows(group, OnArrival::copy, [&](Round& round, int to, int from) {
    if (group.position == root) round.send(group.rank_at(to), part(count, to, n));
    if (from == root) round.receive(group.rank_at(root), part(count, group.position, n));
  });
  // The root has all parts already: it only sends.
  Plan exchange = in_windows(group, OnArrival::copy, [&](Round& round, int to, int from) {
    if (to != root) round.send(group.rank_at(to), part(count, group.position, n));
    if (group.position != root) round.receive(group.rank_at(from), part(count, from, n));
  });
  deal.append(std::move(exchange));
  return deal;
}

}  // namespace skep
