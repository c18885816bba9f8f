#include "mpi_comm/topologies/full_mesh.h"

#include "mpi_comm/shifts.h"

namespace skep {
namespace {

const TopologyEntry entry{"full_mesh", without_settings<FullMesh>};

// Calls visit(round, to, from) with the positions as far ahead as behind, for every distance.
template <class Visit>
Plan in_windows(const Group& group, OnArrival action, Visit visit) {
  return shifts(group.size(), FullMesh::window, action, [&](Round& round, int distance) {
    visit(round, group.wrap(group.position + distance), group.wrap(group.position - distance));
  });
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

Plan FullMesh::plan_all_to_all(const Group& group, const std::vector<Range>& sends,
                               const std::vector<Range>& receives) const {
  return exchange(group, window, sends, receives);
}

}  // namespace skep
